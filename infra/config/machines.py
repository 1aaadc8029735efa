"""Machines: the hosts of a pool that are there already, by name, address, leaf and rails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_address, ip_interface
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from infra.catalog.boards import BOARDS
from infra.config.base import HOST_PATTERN, INTERFACE_PATTERN, LABEL_VALUE_PATTERN, PCI_PATTERN, Frozen

if TYPE_CHECKING:
    from infra.config.pools import Pool

MODULE_PATTERN = r"^([a-z][a-z0-9_-]{0,54})?$"
"""Name of a kernel module. Source: Linux, MODULE_NAME_LEN."""

SHOWN = 3
"""Machines that one sentence names; the count says how many more there are."""

RESERVED = ("all", "localhost", "ungrouped")
"""Names that mean something else to Ansible. Source: Ansible, how to build your inventory."""


def _ssh_address(value: str) -> str:
    """Take an IP address in its shortest form, or a name; digits and dots alone are a mistyped address."""
    try:
        return str(ip_address(value))
    except ValueError:
        if not re.fullmatch(HOST_PATTERN, value) or re.fullmatch(r"[0-9.]+", value):
            raise ValueError("no IP address or host name; write one, without user and port") from None
        return value


def _rail_address(value: Any) -> Any:
    try:
        found = ip_interface(value)
    except ValueError:
        raise ValueError("no address with prefix length; write it like 10.1.0.5/24") from None
    if "/" not in str(value):
        raise ValueError("without prefix length; write it like 10.1.0.5/24")
    # Networks of two (RFC 3021) and of one have no address of their own.
    if found.network.num_addresses > 2 and found.ip == found.network.network_address:
        raise ValueError("the address of the network itself; write the machine's own")
    return found


def _gateway(value: Any) -> Any:
    try:
        return ip_address(value)
    except ValueError:
        raise ValueError("no IP address; write one, without prefix length") from None


class _Said(Frozen):
    """What YAML reads as a number or as yes and no, such as a PCI address or a leaf 7, is to be quoted."""

    @field_validator("*", mode="before")
    @classmethod
    def _text_is_text(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, bool | int | float) and info.field_name != "rails":
            raise ValueError("what YAML makes of it; write it in quotes")
        return value


class Rail(_Said):
    """One NIC of the compute fabric, or one port of it."""

    interface: Annotated[str, Field(pattern=INTERFACE_PATTERN)]
    """Name that the kernel gives it, such as ``ens1f0np0``."""
    pci: Annotated[str, Field(pattern=PCI_PATTERN)] | None = None
    """PCI address, such as ``"0000:18:00.0"``: the key of a NIC whose name may change."""
    address: Annotated[IPv4Interface | IPv6Interface, BeforeValidator(_rail_address)] | None = None
    """Its own address with prefix length; needed on RoCE."""
    gateway: Annotated[IPv4Address | IPv6Address, BeforeValidator(_gateway)] | None = None
    """Router towards other subnets of the rail."""


class Machine(_Said):
    """One host that nobody has to create."""

    name: Annotated[str, Field(pattern=HOST_PATTERN)]
    """Name of the node in the cluster."""
    address: Annotated[str, AfterValidator(_ssh_address)] | None = None
    """Where ssh reaches it; left out: under its name."""
    leaf: Annotated[str, Field(pattern=LABEL_VALUE_PATTERN)] = ""
    """Leaf switch that its rails hang on; needed in a pool with a fabric."""
    rack: Annotated[str, Field(pattern=LABEL_VALUE_PATTERN)] = ""
    """Where it stands."""
    rails: tuple[Rail, ...] = ()
    """In the order of the rails; needed in a pool with a fabric."""
    uplink_driver: Annotated[str, Field(pattern=MODULE_PATTERN)] = ""
    """Kernel driver of the NIC that its default route leaves by, such as ``ixgbe`` or ``mlx5_core``."""

    @field_validator("name")
    @classmethod
    def _is_no_word_of_ansible(cls, value: str) -> str:
        if value in RESERVED:
            raise ValueError("a word of Ansible's own; name the machine otherwise")
        return value


Machines = Mapping[str, tuple[Machine, ...]]
"""By pool; a pool that names none is left out."""


def mistakes(pools: Mapping[str, Pool], machines: Machines, target: str) -> Iterator[str]:
    """Tell what machines say of each other, and of the pool that they are in; a sentence each."""
    for name, named in machines.items():
        key = f"pools.{name}.{'machines' if pools[name].machines else 'machines_file'}"
        if target != "baremetal":
            yield f"{key}: {len(named)} machines on target {target!r}, which has its own hosts; leave it out"
            continue
        yield from (f"{key}: {said}" for said in _of_pool(pools[name], named))
    every = [machine for named in machines.values() for machine in named]
    yield from _twice("name", (machine.name for machine in every))
    yield from _twice("address", (address for machine in every for address in _addresses(machine)))
    yield from _one_group(sorted({machine.leaf for machine in every}))


def group_word(word: str) -> str:
    """A word as it stands in the name of an Ansible group: letters, digits and underscores."""
    return re.sub(r"\W", "_", word, flags=re.ASCII)


def _of_pool(pool: Pool, named: tuple[Machine, ...]) -> Iterator[str]:
    if len(named) != pool.hosts:
        yield f"{len(named)} machines, and hosts is {pool.hosts}; name each host once, or set hosts to {len(named)}"
    if pool.fabric != "none":
        if without := [machine.name for machine in named if not machine.leaf]:
            yield f"{_some(without)} without leaf, and the pool has a fabric; say which leaf each hangs on"
        counts = Counter(machine.leaf for machine in named if machine.leaf)
        for leaf, count in counts.items():
            if count > pool.hosts_per_leaf:
                most = pool.hosts_per_leaf
                yield f"{count} machines on leaf {leaf!r}, hosts_per_leaf is {most}; raise it, or name the right leaf"
    for machine in named:
        yield from (f"{machine.name} {said}" for said in _rails(pool, machine))


def _rails(pool: Pool, machine: Machine) -> Iterator[str]:
    board, count = BOARDS[pool.board].rails, len(machine.rails)
    if pool.fabric == "none":
        if count:
            yield f"has {count} rails in a pool without fabric; set fabric, or leave them out"
        return
    # A NIC of two ports is two functions of PCI, and so two interfaces of one rail.
    if count == 0 or (board and count % board):
        yield f"has {count} rails, board {pool.board!r} has {board}; name each, or each port of each"
    for what in ("interface", "pci"):
        for found in _repeated(getattr(rail, what) for rail in machine.rails):
            yield f"has {what} {found!r} twice; each rail has its own"
    yield from _rail_addresses(pool, machine)


def _rail_addresses(pool: Pool, machine: Machine) -> Iterator[str]:
    for number, rail in enumerate(machine.rails):
        if pool.fabric == "roce" and rail.address is None:
            yield f"has no address on rail {number} ({rail.interface}), and RoCE needs one; add it"
        if rail.gateway and not (rail.address and _reaches(rail.address, rail.gateway)):
            yield f"has gateway {rail.gateway} outside the subnet of rail {number} ({rail.interface}); correct it"


def _reaches(address: IPv4Interface | IPv6Interface, gateway: IPv4Address | IPv6Address) -> bool:
    return gateway in address.network and gateway != address.ip


def _addresses(machine: Machine) -> Iterator[str]:
    if machine.address:
        yield machine.address
    yield from (str(rail.address.ip) for rail in machine.rails if rail.address)


def _twice(what: str, words: Iterable[str]) -> Iterator[str]:
    for word in _repeated(words):
        yield f"pools: {what} {word!r} is listed twice; each machine and rail has its own"


def _repeated(words: Iterable[str | None]) -> list[str]:
    return [word for word, count in Counter(words).items() if word and count > 1]


def _one_group(leaves: list[str]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for leaf in leaves:
        if (other := seen.setdefault(group_word(leaf), leaf)) != leaf:
            yield f"pools: leaves {other!r} and {leaf!r} are one group of the inventory; rename one"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
