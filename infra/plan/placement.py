"""Where replicas land: first fit, leaf by leaf, never on a spare host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infra.config.pools import Pool
from infra.units import ceil_div

POD_CPU_SHARE = 0.9
"""Share of a host's CPUs that its model pods may request; the rest is for the operators' pods."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Hosts that the replicas of one model take, and the room beside them."""

    replicas_per_host: int
    """Replicas one empty host holds (count); 0 when it holds none."""
    first_host: int
    """Index of the first host with a replica."""
    hosts: int
    """Hosts with at least one replica (count)."""
    leaves: tuple[int, ...]
    """Indices of the leaves those hosts hang on."""
    unplaced: int
    """Replicas without a place (count)."""
    free_replicas: int
    """Replicas that would still fit on the pool once every model is placed (count)."""


def host_name(pool: str, index: int) -> str:
    """Name of a simulated or planned host."""
    return f"{pool}-{index:04d}"


def leaf_of(pool: Pool, index: int) -> int:
    """Index of the leaf that a host hangs on."""
    return index // pool.hosts_per_leaf


def place(pool: Pool, wanted: Mapping[str, tuple[int, int]]) -> dict[str, Placement]:
    """Place the models of one pool in the order given.

    Args:
        wanted: model name → (replicas, replicas one empty host holds).
    """
    usable = pool.hosts - pool.spare_hosts
    shares = {name: _hosts_for(replicas, per_host) for name, (replicas, per_host) in wanted.items()}
    # Whole hosts per model keep a tenant's GPUs together; the rest of its last host is its own head room.
    free_hosts = max(0, usable - sum(shares.values()))
    start, placed = 0, {}
    for name, (replicas, per_host) in wanted.items():
        hosts = min(shares[name], max(0, usable - start))
        fit = min(replicas, hosts * per_host)
        leaves = tuple(sorted({leaf_of(pool, index) for index in range(start, start + hosts)}))
        room = free_hosts * per_host + max(0, hosts * per_host - replicas)
        placed[name] = Placement(per_host, start, hosts, leaves, replicas - fit, room)
        start += hosts
    return placed


def _hosts_for(replicas: int, per_host: int) -> int:
    return ceil_div(replicas, per_host) if per_host else 0
