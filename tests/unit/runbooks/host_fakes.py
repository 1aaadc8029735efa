"""Hosts in memory: their Nodes, what answers on them over ssh, and a Prometheus with targets and rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.errors import ConfigError, Unknown
from runbooks.lib.kubernetes import views
from runbooks.lib.kubernetes.views import Host, Pod
from runbooks.lib.prometheus import Rule, Sample, ScrapeTarget
from runbooks.lib.writing import Result as Ran
from runbooks.lib.writing import may
from tests.unit.runbooks import fake_services, fakes

POOLS = {"b300": (4, 8), "h200": (2, 8), "lab": (2, 0)}
"""Pools of the lab: hosts, and GPUs and NICs of each."""


def host(
    name: str, *, ready: bool = True, gpus: float | None = None, cordoned: str | None = None, **conditions: str
) -> Host:
    """A host of the lab's plan; two of a pool share a leaf; ``cordoned`` is by whom, empty for somebody else."""
    pool, _, number = name.partition("-")
    full = POOLS[pool][1]
    labels = {"railwright.dev/pool": pool} | (
        {"railwright.dev/leaf": f"{pool}-leaf-{int(number) // 2}"} if full else {}
    )
    labels |= {views.SIMULATED: pool} if full else {}
    notes = {views.CORDONED_BY: cordoned} if cordoned else {}
    status = "True" if ready else "Unknown"
    said = {"type": "Ready", "status": status, "reason": "NodeStatusUnknown", "message": "Kubelet is silent.",
            "lastTransitionTime": fakes.stamp(90)}  # fmt: skip
    more = [{"type": kind, "status": "True", "message": message} for kind, message in conditions.items()]
    offered = {"nvidia.com/gpu": str(full if gpus is None else gpus)} if full else {}
    meta = {
        "name": name,
        "creationTimestamp": fakes.stamp(9000),
        "labels": labels,
        "annotations": notes,
        "resourceVersion": "1",
    }
    return views.host({"metadata": meta, "spec": {"unschedulable": True} if cordoned is not None else {},
                       "status": {"conditions": [said, *more], "allocatable": offered}})  # fmt: skip


def all_hosts(*others: Host) -> dict[str, Host]:
    """Every host of the plan, these in the place of those that are well."""
    every = {}
    for pool, (count, full) in POOLS.items():
        for number in range(count):
            name = f"{pool}-{number:04}" if full else f"{pool}-{number}"
            every[name] = host(name)
    return every | {one.name: one for one in others}


@dataclass
class Cluster(fakes.Cluster):
    """A cluster with the hosts of the plan."""

    hosts_there: dict[str, Host] = field(default_factory=all_hosts)
    api_down: bool = False

    @property
    def hosts(self) -> Any:
        """Its hosts."""
        if self.api_down:
            raise Unknown("API server — gives no answer — see that it runs")
        return Nodes(self)

    def call(self, path: str) -> str:
        """A page of the API server."""
        if self.api_down:
            raise Unknown("API server — gives no answer — see that it runs")
        return "ok"

    def get(self, api_version: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        if self.api_down:
            raise Unknown("API server — gives no answer — see that it runs")
        return super().get(api_version, kind, namespace, name)

    def list(self, namespace: str = "", *, labels: Mapping[str, str] | None = None, host: str = "") -> list[Pod]:
        """Pods by namespace, labels and host."""
        return [
            one
            for one in self.pods_there
            if namespace in ("", one.namespace) and host in ("", one.host)
            and (labels or {}).items() <= dict(one.labels).items()
        ]  # fmt: skip


@dataclass
class Nodes:
    """The hosts of a cluster; a write is noted and done."""

    cluster: Cluster

    @property
    def own_reason(self) -> str:
        return "run/test"

    def get(self, name: str) -> Host:
        if name not in self.cluster.hosts_there:
            raise ConfigError(f"host {name!r} — there is none — see: kubectl get nodes")
        return self.cluster.hosts_there[name]

    def list(self, *, pool: str = "", leaf: str = "") -> list[Host]:
        return [one for one in self.cluster.hosts_there.values() if pool in ("", one.pool) and leaf in ("", one.leaf)]

    def cordon(self, name: str, reason: str = "") -> None:
        if self.cluster.note(f"cordon {name} for {reason or self.own_reason}"):
            self.cluster.hosts_there[name] = host(name, cordoned=reason or self.own_reason)

    def uncordon(self, name: str, reason: str = "") -> None:
        if self.cluster.note(f"uncordon {name} for {reason}"):
            self.cluster.hosts_there[name] = host(name)


@dataclass
class Ssh:
    """What answers on hosts: services by ``host/name``, commands by their first words; absent: well."""

    ctx: Any = None
    states: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Ran] = field(default_factory=dict)
    silent: tuple[str, ...] = ()
    written: list[str] = field(default_factory=list)

    def service_state(self, host: str, name: str) -> str:
        if host in self.silent:
            raise Unknown(f"host {host} — no ssh — see that the host is up")
        return self.states.get(f"{host}/{name}", "running")

    def service(self, host: str, name: str, action: str) -> None:
        if may(self.ctx, f"{action} {name}"):
            self.written.append(f"{action} {host}/{name}")
            self.states[f"{host}/{name}"] = "running"

    def ask(self, host: str, argv: Sequence[str], *, timeout: float = 60.0) -> Ran:
        """The answer of the longest beginning that a test put here."""
        line = " ".join(argv)
        known = sorted((start for start in self.answers if start in line), key=len)
        return self.answers[known[-1]] if known else Ran(0, "", "")

    def run(self, host: str, argv: Sequence[str], *, timeout: float = 60.0) -> Ran:
        """A command that writes; ``sysctl -w`` is remembered."""
        if not may(self.ctx, " ".join(argv)):
            return Ran(0, "", "")
        self.written.append(" ".join(argv))
        if argv[:2] == ["sysctl", "-w"]:
            key, _, value = argv[2].partition("=")
            self.answers[f"sysctl -n {key}"] = Ran(0, f"{value}\n", "")
        return self.ask(host, argv)


@dataclass
class Prometheus(fake_services.Prometheus):
    """A Prometheus with targets and rules."""

    targets_there: list[ScrapeTarget] = field(default_factory=list)
    rules_there: list[Rule] = field(default_factory=lambda: [Rule("a", "g", "recording", "1", "ok", "")])

    def samples(self, expression: str, *, needs: Sequence[str], **names: Any) -> list[Sample]:
        """Samples; a metric that a test holds back has no data."""
        if any(self.answers.get(f"no {metric}") for metric in needs):
            raise Unknown(f"metrics {', '.join(needs)} — have no series — see that their targets are up")
        return super().samples(expression, needs=needs, **names)

    def targets(self) -> list[ScrapeTarget]:
        if self.is_down:
            raise Unknown("Prometheus — gives no answer — see that it runs")
        return self.targets_there

    def rules(self) -> list[Rule]:
        return self.rules_there

    def is_ready(self) -> bool:
        return not self.is_down


@dataclass
class World(fakes.World):
    """All clients, with hosts."""

    kube: Cluster = field(default_factory=Cluster)
    prometheus: Prometheus = field(default_factory=Prometheus)
    hosts: Ssh = field(default_factory=Ssh)

    def connect(self, ctx: Any) -> World:
        super().connect(ctx)
        self.hosts.ctx = ctx
        return self


def gpus(*missing: tuple[str, int]) -> list[Sample]:
    """Every GPU of the simulated hosts at 38 °C, but those that are missing."""
    return [
        Sample({"host": name, "gpu": str(gpu), "pool": one.pool, "leaf": one.leaf}, 38.0)
        for name, one in all_hosts().items()
        for gpu in range(POOLS[one.pool][1])
        if (name, gpu) not in missing
    ]


def nics(*down: tuple[str, int], silent: tuple[tuple[str, int], ...] = ()) -> list[Sample]:
    """Every NIC of the simulated hosts, up but for those that are down."""
    return [
        Sample(
            {"host": name, "device": f"mlx5_{nic}", "pool": one.pool, "leaf": one.leaf}, float((name, nic) not in down)
        )
        for name, one in all_hosts().items()
        for nic in range(POOLS[one.pool][1])
        if (name, nic) not in silent
    ]
