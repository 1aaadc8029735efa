"""The inventory: the hosts of a stack, each once, read from its outputs as they are planned or as they are deployed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from infra.config.mistakes import closest, explain
from infra.errors import ConfigError, Unknown
from infra.plan.hosts.facts import HostFacts, Rail
from infra.plan.labels import own
from infra.plan.outputs import SCHEMA_VERSION

Role = Literal["gpu", "cpu", "shared", "simulated"]
"""``gpu`` and ``cpu``: machines of their own; ``shared``: the kernel is also that of who plays on it, as in the lab, so
that plays leave it alone; ``simulated``: in the API only, and in no inventory."""


@dataclass(frozen=True, slots=True)
class Taint:
    """What keeps pods off a host, as Kubernetes says it."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class MachineOutput:
    """One host of a pool; what it says was checked when the spec was read."""

    name: str
    address: str = ""
    leaf: str = ""
    rack: str = ""
    rails: tuple[Rail, ...] = ()


@dataclass(frozen=True, slots=True)
class PoolOutput:
    """One pool as the outputs of a stack have it; keys that are not here are for others."""

    board: str
    hosts: int
    fabric: str
    role: Role
    machine: Literal["metal", "virtual"]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    machines: tuple[MachineOutput, ...]
    mtu: int = 0
    """Of the rails (bytes); 0: the catalogue's."""


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the inventory reads of a stack's outputs."""

    schema_version: int
    cluster: str
    target: str
    ssh_config: str
    pools: Mapping[str, PoolOutput]


@dataclass(frozen=True, slots=True)
class HostGroup:
    """The hosts of one pool, with what all of them register with in the cluster."""

    name: str
    role: Role
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    hosts: tuple[HostFacts, ...]


@dataclass(frozen=True, slots=True)
class Inventory:
    """All hosts that a stack has and that can be reached."""

    cluster: str
    target: str
    ssh_config: str
    """Path of the ssh configuration that names the hosts, relative to the clone; empty: the user's own."""
    pools: tuple[HostGroup, ...]
    simulated: Mapping[str, int] = field(default_factory=dict)
    """Pool to hosts that exist in the API only (count)."""

    @property
    def hosts(self) -> Iterator[HostFacts]:
        """Every host, in the order of pools and machines."""
        for pool in self.pools:
            yield from pool.hosts

    def host(self, name: str) -> HostFacts:
        """One of them.

        Raises:
            ConfigError: the stack has no such host.
        """
        names = {host.name: host for host in self.hosts}
        if name not in names:
            near = closest(name, list(names))
            fix = f"did you mean {near!r}?" if near else f"see the {len(names)} that are: infra inventory"
            raise ConfigError(f"host {name!r} — is not in the stack of cluster {self.cluster!r} — {fix}")
        return names[name]


def inventory(outputs: Mapping[str, Any]) -> Inventory:
    """Make the inventory of a stack's outputs, planned (infra.plan.outputs) or as ``pulumi stack output --json``.

    Raises:
        ConfigError: the outputs are of another version or form, or a host is missing, unknown or listed twice.
        Unknown: the hosts are made by a cloud, and no output tells their names.
    """
    said = _read(outputs)
    real = {name: pool for name, pool in said.pools.items() if pool.role != "simulated"}
    if real and said.target not in ("lab", "baremetal"):
        raise Unknown(
            f"cluster {said.cluster!r} — the hosts of target {said.target!r} are made by the cloud, and no stack names "
            "them — they are tuned by their image and by operators; see: kubectl get nodes -L railwright.dev/pool"
        )
    problems = [*_counts(real), *_twice(machine.name for pool in real.values() for machine in pool.machines)]
    if problems:
        raise ConfigError(*problems)
    groups = tuple(_group(name, pool) for name, pool in real.items())
    simulated = {name: pool.hosts for name, pool in said.pools.items() if pool.role == "simulated"}
    return Inventory(said.cluster, said.target, said.ssh_config, groups, simulated)


def same_hosts(planned: Inventory, deployed: Inventory) -> Inventory:
    """Give the deployed inventory back when it is the planned one.

    Raises:
        ConfigError: a host is in one of them only, or differs.
    """
    after, before = ({host.name: host for host in one.hosts} for one in (planned, deployed))
    said = {
        "is in the stack file, and not in the outputs — run pulumi up": after.keys() - before.keys(),
        "is in the outputs, and not in the stack file — drain it, then run pulumi up": before.keys() - after.keys(),
        "differs between the stack file and the outputs — run pulumi up": {
            name for name in before.keys() & after.keys() if before[name] != after[name]
        },
    }
    problems = [f"host {name!r} — {what}" for what, names in said.items() for name in sorted(names)]
    if problems:
        raise ConfigError(*problems)
    return deployed


def _read(outputs: Mapping[str, Any]) -> Outputs:
    version = outputs.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ConfigError(
            f"stack outputs — have schema_version {version!r}, this clone reads {SCHEMA_VERSION} — "
            "run pulumi up, or read them with the clone that wrote them"
        )
    try:
        return TypeAdapter(Outputs).validate_python(outputs)
    except ValidationError as error:
        raise ConfigError(*(f"stack outputs — {said}" for said in explain(error, Outputs, ()))) from error


def _counts(pools: Mapping[str, PoolOutput]) -> Iterator[str]:
    for name, pool in pools.items():
        if len(pool.machines) != pool.hosts:
            yield (
                f"pool {name!r} — has {pool.hosts} hosts and names {len(pool.machines)} — "
                f"name each in pools.{name}.machines or machines_file of the stack file, then run pulumi up"
            )


def _twice(names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"host {name!r} — is listed {count} times — name each host once in the stack file"


def _group(name: str, pool: PoolOutput) -> HostGroup:
    hosts = tuple(
        HostFacts(
            name=machine.name,
            pool=name,
            board=pool.board,
            fabric=pool.fabric,
            leaf=machine.leaf,
            machine=pool.machine,
            address=machine.address,
            rack=machine.rack,
            rails=machine.rails,
            # An interface of a pod carries no more than the one that it stands on.
            variables={"rdma_mtu": pool.mtu} if pool.mtu else {},
        )
        for machine in pool.machines
    )
    return HostGroup(name, pool.role, own(pool.labels), pool.taints, hosts)
