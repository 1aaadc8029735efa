"""Text from which ibsim makes a fabric: a switch for each rail of each leaf, spines for each rail, cores for all.

Source: linux-rdma/ibsim, README and net-examples: the form is that of ibnetdiscover, which says the rate of links too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from infra.errors import ConfigError
from lab.ib.hosts import Port

RATE = "4xHDR"
"""Rate of every link: the fastest that ibsim 0.10 knows; NDR it takes for SDR."""

SPINES = 2
"""Spine switches of each rail (count): enough that one may fail."""

CORES = 2
"""Core switches, which join the rails to one subnet (count)."""

MOST_PORTS = 254
"""Ports of one switch (count). Source: InfiniBand, 8 bits, of which 0 and 255 mean something else."""


@dataclass
class Node:
    """A switch, or one NIC of a host."""

    id: str
    guid: int
    name: str
    links: list[tuple[Node, int]] = field(default_factory=list)
    """Node and port at the other end, by own port from 1 on."""


@dataclass(frozen=True, slots=True)
class Network:
    """A fabric: its switches first, then the NICs."""

    switches: tuple[Node, ...]
    nics: tuple[Node, ...]

    @property
    def ports(self) -> int:
        """Ports of all nodes, those of switches' own management included (count)."""
        return sum(len(node.links) + 1 for node in (*self.switches, *self.nics))

    @property
    def text(self) -> str:
        """As ibsim reads it."""
        return "\n".join([*(_switch(node) for node in self.switches), *(_nic(node) for node in self.nics)])


def build(ports: Iterable[Port]) -> Network:
    """Cable rails to switches.

    Raises:
        ConfigError: a switch would need more ports than there are.
    """
    cores = [_new_switch(number, f"core {number}") for number in range(CORES)]
    spines: dict[int, list[Node]] = {}
    leaves: dict[tuple[str, int], Node] = {}
    nics = []
    for number, port in enumerate(ports):
        if port.rail not in spines:
            spines[port.rail] = _spines(port.rail, cores, CORES + len(leaves) + SPINES * len(spines))
        if (port.leaf, port.rail) not in leaves:
            leaf = _new_switch(CORES + len(leaves) + SPINES * len(spines), f"{port.leaf} rail {port.rail}")
            leaves[port.leaf, port.rail] = leaf
            _join(leaf, spines[port.rail])
        guid = 0x10_0000_0000 + 16 * number
        nic = Node(f"H-{guid:016x}", guid, f"{port.host} {port.device}")
        _join(nic, [leaves[port.leaf, port.rail]])
        nics.append(nic)
    switches = (*cores, *(one for each in spines.values() for one in each), *leaves.values())
    for switch in switches:
        if len(switch.links) > MOST_PORTS:
            raise ConfigError(
                f"switch {switch.name!r} — needs {len(switch.links)} ports — {MOST_PORTS} are allowed — "
                "set hosts_per_leaf so that neither a leaf nor a rail has more"
            )
    return Network(switches, tuple(nics))


def _new_switch(number: int, name: str) -> Node:
    guid = 0x20_0000_0000 + number
    return Node(f"S-{guid:016x}", guid, name)


def _spines(rail: int, cores: list[Node], number: int) -> list[Node]:
    made = [_new_switch(number + each, f"spine {rail}.{each}") for each in range(SPINES)]
    for spine in made:
        _join(spine, cores)
    return made


def _join(node: Node, others: Iterable[Node]) -> None:
    for other in others:
        node.links.append((other, len(other.links) + 1))
        other.links.append((node, len(node.links)))


def _switch(node: Node) -> str:
    head = f'switchguid=0x{node.guid:x}\nSwitch {len(node.links)} "{node.id}" # "{node.name}" base port 0 lid 0 lmc 0\n'
    return head + "".join(_rows(node, ""))


def _nic(node: Node) -> str:
    head = f'caguid=0x{node.guid:x}\nCa {len(node.links)} "{node.id}" # "{node.name}"\n'
    return head + "".join(_rows(node, "lid 0 lmc 0 "))


def _rows(node: Node, before: str) -> Iterator[str]:
    for number, (other, port) in enumerate(node.links, start=1):
        yield f'[{number}] "{other.id}"[{port}] # {before}"{other.name}" lid 0 {RATE}\n'
