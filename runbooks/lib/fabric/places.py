"""Where each switch stands: the rail and leaf whose hosts hang on it, told by most of its cables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from infra.plan.hosts import HostFacts
from runbooks.lib.fabric.links import End, Link


@dataclass(frozen=True, slots=True)
class Cable:
    """Cable from a rail of a host to a switch."""

    host: HostFacts
    rail: int
    switch: End
    link: Link

    @property
    def place(self) -> Place:
        """Where it belongs."""
        return Place(self.host.leaf, self.rail)

    def __str__(self) -> str:
        return f"{self.host.name} rail {self.rail}"


@dataclass(frozen=True, slots=True)
class Place:
    """One leaf, and the rail of it that a switch is for."""

    leaf: str
    rail: int | None
    """None: the switch is for all rails of its hosts."""

    def __str__(self) -> str:
        rail = "all rails" if self.rail is None else f"rail {self.rail}"
        return f"{rail} of {self.leaf}" if self.leaf else rail


@dataclass(frozen=True, slots=True)
class Holding:
    """What hangs on one switch."""

    switch: End
    place: Place | None
    """None: no place has more than half of its cables."""
    share: str
    """How many cables say so, such as ``31 of 32``."""


def holdings(cables: Iterable[Cable]) -> Mapping[str, Holding]:
    """What each switch holds, by its node."""
    each: dict[str, list[Cable]] = defaultdict(list)
    for cable in cables:
        each[cable.switch.node].append(cable)
    return {node: _holding(found) for node, found in each.items()}


def homes(held: Mapping[str, Holding], cables: Iterable[Cable]) -> Mapping[Place, str]:
    """The switch of each place: of several that hold cables of it the one with more; of equals none."""
    counts: dict[Place, Counter[str]] = defaultdict(Counter)
    for cable in cables:
        place = held[cable.switch.node].place
        if place is not None and place in (cable.place, Place(cable.host.leaf, None)):
            counts[place][cable.switch.node] += 1
    return {place: node for place, found in counts.items() if (node := _most(found))}


def _holding(cables: list[Cable]) -> Holding:
    hosts = Counter(cable.host.name for cable in cables)
    is_shared = 2 * sum(count > 1 for count in hosts.values()) > len(hosts)
    counts = Counter(Place(cable.host.leaf, None) if is_shared else cable.place for cable in cables)
    place, most = counts.most_common(1)[0]
    return Holding(cables[0].switch, place if 2 * most > len(cables) else None, f"{most} of {len(cables)}")


def _most(counts: Counter[str]) -> str:
    first, *rest = counts.most_common(2)
    return "" if rest and rest[0][1] == first[1] else first[0]
