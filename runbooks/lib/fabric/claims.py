"""Which host and which rail a device of the fabric says it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from infra.plan.hosts import HostFacts, Rail


@dataclass(frozen=True, slots=True)
class Claim:
    """What a description of a device says."""

    host: HostFacts
    rail: int | None
    """Number of the rail; None: the device is the host's, and none of the names that its rails may have."""


@dataclass
class Claims:
    """Descriptions that devices of known hosts give themselves: the host's name, then the device's."""

    hosts: Iterable[HostFacts]
    _known: dict[str, Claim] = field(init=False)
    _names: dict[str, HostFacts] = field(init=False)

    def __post_init__(self) -> None:
        every = tuple(self.hosts)
        short = Counter(host.name.partition(".")[0] for host in every)
        # A node may call itself by its short name; one that two hosts share is nobody's.
        by_short = {name: host for host in every if short[name := host.name.partition(".")[0]] == 1}
        self._names = by_short | {host.name: host for host in every}
        self._known = {
            f"{name} {device}": Claim(host, number)
            for name, host in self._names.items()
            for number, rail in enumerate(host.rails)
            for device in device_names(rail)
        }

    def of(self, description: str) -> Claim | None:
        """The claim behind a description; None: it is of no host that is known."""
        words = description.split()
        if not words:
            return None
        for name in (words[0], words[0].partition(".")[0]):
            if host := self._names.get(name):
                device = words[1] if len(words) > 1 else ""
                return self._known.get(f"{name} {device}", Claim(host, None))
        return None


def device_names(rail: Rail) -> Iterator[str]:
    """Names that the device of a rail may have: as its interface, or as udev makes them of its place on the bus.

    Source: rdma-core, kernel-boot/rdma_rename.c, NAME_PCI: domain unless 0, bus and slot in decimal, and the function
    of a device that has several.
    """
    yield rail.interface
    if rail.pci:
        domain, bus, last = rail.pci.split(":")
        slot, function = last.split(".")
        head = f"P{int(domain, 16)}" if int(domain, 16) else ""
        place = f"ib{head}p{int(bus, 16)}s{int(slot, 16)}"
        if function == "0":
            yield place
        yield f"{place}f{function}"
