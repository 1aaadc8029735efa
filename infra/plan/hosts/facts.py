"""One host as the inventory knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_interface
from typing import Literal

from infra.catalog.host_tuning.setting import Value


@dataclass(frozen=True, slots=True)
class Rail:
    """One NIC of the compute fabric, or one port of it; the k-th of every host of a pool hangs on the same rail."""

    interface: str
    """Name that the kernel gives it, such as ``ens1f0np0``."""
    pci: str = ""
    """PCI address, such as ``0000:18:00.0``: the stable key of a NIC whose name may change; empty: not known."""
    address: str = ""
    """Its own address with prefix length, such as ``10.1.0.5/24``; empty where it needs none (InfiniBand)."""
    gateway: str = ""
    """Router towards other subnets of the rail; empty where there is none."""

    @property
    def subnet(self) -> str:
        """Network that its address lies in; empty without an address."""
        return str(ip_interface(self.address).network) if self.address else ""


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What decides which settings are for a host, and how it is reached."""

    name: str
    pool: str
    board: str
    """Name of infra.catalog.boards."""
    fabric: str
    leaf: str = ""
    machine: Literal["metal", "virtual"] = "metal"
    kubernetes: bool = True
    """Whether it is in a cluster, or about to join one."""
    address: str = ""
    """Where ssh reaches it; empty: under its name."""
    rack: str = ""
    rails: tuple[Rail, ...] = ()
    """In the order of the rails; empty where nobody says them."""
    cpu: Literal["x86", "arm"] = "x86"
    variables: Mapping[str, Value] = field(default_factory=dict)
    """Variable of a role → value, where the inventory says another one than the catalogue."""
