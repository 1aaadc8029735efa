"""Hosts of a stack on a fabric: those that it names, and made-up ones where it only counts them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.catalog.boards import BOARDS
from infra.cli.stack import planned
from infra.errors import ConfigError
from infra.plan.inventory import inventory
from infra.plan.outputs import outputs
from lab import paths

MOST_HOSTS = 2048
"""Hosts of one fabric (count): of eight rails they take a third of a subnet's addresses (49,151 unicast LIDs)."""


@dataclass(frozen=True, slots=True)
class Port:
    """One rail of one host."""

    host: str
    leaf: str
    rail: int
    device: str
    """Name of the RDMA device, as the host's description of itself has it."""


def of_stack(stack: str) -> dict[str, Any]:
    """Outputs of a stack as one of bare metal: every pool with rails, all its hosts by name, on InfiniBand.

    Args:
        stack: its name, or the path of its file.
    Raises:
        ConfigError: it has mistakes, no pool with rails, or too many hosts.
    """
    path = Path(stack) if stack.endswith((".yaml", ".yml")) else paths.repo_root() / "stacks" / f"Pulumi.{stack}.yaml"
    if not path.is_file():
        raise ConfigError(f"stack {stack!r} — is not there — name one of stacks/, or a file")
    spec, plan = planned(path)
    if spec.problems or plan is None:
        raise ConfigError(*spec.problems)
    said = outputs(plan)
    per_leaf = {item.name: item.pool.hosts_per_leaf for item in plan.pools}
    pools = {
        name: {**pool, "role": "gpu", "fabric": "infiniband", "machines": _machines(name, pool, per_leaf[name])}
        for name, pool in said["pools"].items()
        if pool["fabric"] != "none"
    }
    hosts = sum(pool["hosts"] for pool in pools.values())
    if not 0 < hosts <= MOST_HOSTS:
        raise ConfigError(f"stack {stack!r} — has {hosts} hosts with rails — from 1 to {MOST_HOSTS} are allowed here")
    return {**said, "target": "baremetal", "ssh_config": "", "pools": pools}


def ports(said: Mapping[str, Any]) -> Iterator[Port]:
    """Every rail of every host of some outputs."""
    for host in inventory(said).hosts:
        for number, rail in enumerate(host.rails):
            yield Port(host.name, host.leaf, number, rail.interface)


def _machines(name: str, pool: Mapping[str, Any], per_leaf: int) -> list[dict[str, Any]]:
    if pool["machines"]:
        return [
            machine | {"rails": [{**rail, "address": "", "gateway": ""} for rail in machine["rails"]]}
            for machine in pool["machines"]
        ]
    return [
        {"name": f"{name}-{number:04}", "leaf": f"{name}-leaf-{number // per_leaf}", "rails": _rails(pool["board"])}
        for number in range(pool["hosts"])
    ]


def _rails(board: str) -> list[dict[str, str]]:
    """Rails on made-up buses, named as udev would."""
    return [
        {"interface": f"ibp{bus}s0", "pci": f"0000:{bus:02x}:00.0"}
        for bus in range(16, 16 * (BOARDS[board].rails + 1), 16)
    ]
