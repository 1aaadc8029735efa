"""How pods of a pool get at its fabric: resource, environment and rights, and who serves them on a host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from infra.catalog.shapes import Fabric

Mode = Literal["shared", "sriov", "host-device", "cloud"]
"""``shared``: all pods of a host see all its devices; ``sriov``: each pod has functions of its own; ``host-device``: a
whole NIC goes into one pod; ``cloud``: as the cloud has it, with nothing to choose."""

Server = Literal["shared plugin", "function plugin", "SR-IOV operator", "EFA plugin", "gIB", "TCPXO", "cloud"]
"""Who registers the devices of a host with its kubelet, or puts there what pods need instead."""

Asks = Literal["devices", "rails", "flag", "networks"]
"""What a pod asks for: so many ``devices`` of one resource; one device of the resource of each of the ``rails``; one of
a resource that brings all (``flag``); or its ``networks``, by annotation and no resource."""

Attaches = Literal["no", "rail", "device"]
"""Interfaces that a pod gets beside its first: none, one in the network of each ``rail``, or one in one network for
each ``device``."""


@dataclass(frozen=True, slots=True)
class HostFolder:
    """A folder of the host that a pod sees."""

    name: str
    """Of the volume."""
    path: str
    mount: str
    """Where the pod sees it."""
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Access:
    """One way to a fabric."""

    target: str
    fabric: Fabric
    transport: str
    """Plugin that NCCL needs, as the machine type says; empty: NCCL's own verbs."""
    mode: Mode
    server: Server
    asks: Asks
    resource: str
    """Extended resource; where each rail has its own, its start, followed by the rail's number. Empty without one."""
    attaches: Attaches = "no"
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of NCCL and what it stands on."""
    capabilities: tuple[str, ...] = ("IPC_LOCK",)
    """Linux capabilities; memory that a NIC reads is locked in its place."""
    mtus: tuple[int, int] = (0, 0)
    """Lowest and highest MTU of the interfaces (bytes); equal where the cloud sets it, 0 where nobody can."""
    mtu: int = 0
    """What it is when the spec says nothing (bytes); 0: not ours to set."""
    subnet: str = ""
    """Block of addresses when the spec names none; empty: there is no safe one."""
    needs_addresses: bool = False
    """Whether it does not work without an address on each interface: RoCE's global ids are made of them."""
    huge_pages_mib: int = 0
    """Huge pages of 2 MiB that a pod takes, all together (MiB)."""
    folders: tuple[HostFolder, ...] = ()
    """Folders of the host with the plugin's libraries and devices."""
    parts: tuple[str, ...] = ()
    """Programs that it needs, by name of ``PARTS``: on hosts, but for the daemon."""
    daemon: str = ""
    """Program beside the engine in each pod that uses it, likewise; empty: none."""
    externally_managed: bool = False
    """Whether somebody else makes the virtual functions."""
    source: str = ""

    @property
    def host_parts(self) -> tuple[str, ...]:
        """Programs that it needs on hosts."""
        return tuple(part for part in self.parts if part != self.daemon)

    @property
    def by_operator(self) -> bool:
        """Whether the Network Operator serves it."""
        return self.server in ("shared plugin", "function plugin", "SR-IOV operator")
