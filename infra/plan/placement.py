"""Where replicas land: first fit, leaf by leaf, never on a spare host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from infra.config.pools import Pool

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


def place(pool: Pool, wanted: Mapping[str, tuple[int, int]], *, shared: bool = False) -> dict[str, Placement]:
    """Place the models of one pool in the order given.

    Args:
        wanted: model name → (replicas, replicas one empty host holds).
        shared: whether models share hosts. With GPUs they do not: a replica of a small model on each host would leave
            none for a model that takes a whole one.
    """
    usable, start = Fraction(pool.hosts - pool.spare_hosts), Fraction(0)
    placed = {}
    for name, (replicas, per_host) in wanted.items():
        fit = min(replicas, int((usable - start) * per_host))
        share = Fraction(fit, per_host) if per_host else Fraction(0)
        share = share if shared else Fraction(ceil(share))
        first, last = int(start), ceil(start + share)
        leaves = tuple(sorted({leaf_of(pool, index) for index in range(first, last)}))
        placed[name] = Placement(per_host, first, last - first, leaves, replicas - fit, int(share * per_host) - fit)
        start += share
    return {name: _with_room(place, usable - start) for name, place in placed.items()}


def _with_room(place: Placement, hosts: Fraction) -> Placement:
    """Add what the hosts that nobody took would hold to the room on a model's own hosts."""
    return replace(place, free_replicas=place.free_replicas + int(hosts * place.replicas_per_host))
