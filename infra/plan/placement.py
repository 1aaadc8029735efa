"""Where replicas land: first fit, leaf by leaf, never on a spare host; one on several hosts never on two leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import groupby
from math import ceil

from infra.config.pools import Pool

POD_CPU_SHARE = 0.9
"""Share of a host's CPUs that its model pods may request; the rest is for the operators' pods."""


@dataclass(frozen=True, slots=True)
class Want:
    """What one model asks of its pool (counts)."""

    replicas: int
    per_host: int
    """Replicas that one empty host holds; 0 when it holds none."""
    hosts: int = 1
    """Hosts that one replica takes, whole when they are more than one."""


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
    hosts_per_replica: int = 1
    """Hosts that one replica takes (count)."""


def host_name(pool: str, index: int) -> str:
    """Name of a simulated or planned host."""
    return f"{pool}-{index:04d}"


def leaf_of(pool: Pool, index: int) -> int:
    """Index of the leaf that a host hangs on."""
    return index // pool.hosts_per_leaf


def place(pool: Pool, wanted: Mapping[str, Want], *, shared: bool = False) -> dict[str, Placement]:
    """Place the models of one pool in the order given, but those first whose replicas take the most hosts.

    Args:
        wanted: by model.
        shared: whether models share hosts. With GPUs they do not: a replica of a small model on each host would leave
            none for a model that takes a whole one.
    """
    if shared:
        return _share(pool, wanted)
    free = list(range(pool.hosts - pool.spare_hosts))
    placed = {}
    for name, want in sorted(wanted.items(), key=lambda item: -item[1].hosts):
        taken = _take(pool, want, free)
        placed[name] = _placement(pool, want, taken)
        free = sorted({*free} - {*taken})
    return {name: _with_room(placed[name], _fit(pool, want, free)) for name, want in wanted.items()}


def groups_per_leaf(pool: Pool, hosts: int) -> int:
    """Replicas of so many hosts that one full leaf holds (count)."""
    return min(pool.hosts_per_leaf, pool.hosts) // hosts


def _take(pool: Pool, want: Want, free: list[int]) -> list[int]:
    """The hosts of as many replicas as fit."""
    if want.hosts == 1:
        return free[: ceil(Fraction(want.replicas, want.per_host))] if want.per_host else []
    taken: list[int] = []
    for _, leaf in groupby(free, lambda index: leaf_of(pool, index)):
        whole = list(leaf)
        left = want.replicas - len(taken) // want.hosts
        taken += whole[: min(left, len(whole) // want.hosts) * want.hosts]
    return taken


def _fit(pool: Pool, want: Want, free: list[int]) -> int:
    """Replicas that hosts would hold which nobody took (count)."""
    if want.hosts == 1:
        return len(free) * want.per_host
    return sum(len(list(leaf)) // want.hosts for _, leaf in groupby(free, lambda index: leaf_of(pool, index)))


def _placement(pool: Pool, want: Want, taken: list[int]) -> Placement:
    holds = len(taken) // want.hosts if want.hosts > 1 else len(taken) * want.per_host
    fit = min(want.replicas, holds)
    leaves = tuple(sorted({leaf_of(pool, index) for index in taken}))
    first = taken[0] if taken else 0
    return Placement(want.per_host, first, len(taken), leaves, want.replicas - fit, holds - fit, want.hosts)


def _share(pool: Pool, wanted: Mapping[str, Want]) -> dict[str, Placement]:
    usable, start = Fraction(pool.hosts - pool.spare_hosts), Fraction(0)
    placed = {}
    for name, want in wanted.items():
        fit = min(want.replicas, int((usable - start) * want.per_host))
        share = Fraction(fit, want.per_host) if want.per_host else Fraction(0)
        first, last = int(start), ceil(start + share)
        leaves = tuple(sorted({leaf_of(pool, index) for index in range(first, last)}))
        placed[name] = Placement(want.per_host, first, last - first, leaves, want.replicas - fit, 0)
        start += share
    return {name: _with_room(found, int((usable - start) * found.replicas_per_host)) for name, found in placed.items()}


def _with_room(found: Placement, more: int) -> Placement:
    """Add what the hosts that nobody took would hold to the room on a model's own hosts."""
    return replace(found, free_replicas=found.free_replicas + more)
