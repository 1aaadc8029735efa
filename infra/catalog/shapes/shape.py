"""What a cloud sells as one host: its board, its network cards, where it is sold, and how capacity of it is had."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from infra.catalog.boards import BOARDS, Board

Fabric = Literal["efa", "roce", "infiniband"]
"""Which network the GPUs of several hosts talk over."""

Capacity = Literal["on-demand", "reservation", "capacity-block", "flex-start"]
"""How hosts are had: as long as there are any, from a reservation, for booked days, or when their turn comes."""

RESERVED_SHARE = 0.05
"""Part of a host's memory that kubelet, system and eviction threshold keep (share). Source: our choice, above EKS's and
GKE's formulas for hosts of a terabyte and more."""


@dataclass(frozen=True, slots=True)
class Nic:
    """One network interface that a launch has to declare."""

    card: int
    """Network card that it sits on (index)."""
    device: int
    """Its place on that card (index)."""
    kind: Literal["interface", "efa-only", "gvnic", "rdma", "gpu-nic"]
    """``interface``: plain network; ``efa-only``: EFA without an address; ``rdma``: RoCE of a GPU; ``gpu-nic``: network
    of a GPU under TCPXO; ``gvnic``: plain network of Google."""
    gbit: int
    """Speed (Gbit/s); 0: not published."""

    @property
    def is_fabric(self) -> bool:
        """Whether GPUs of several hosts talk over it."""
        return self.kind in ("efa-only", "rdma", "gpu-nic")


@dataclass(frozen=True, slots=True)
class Quota:
    """What a cloud lets an account have at once, and how much of it one host takes."""

    name: str
    """As the cloud's quota pages call it."""
    per_host: int
    """Units of one host (count)."""
    unit: Literal["vCPUs", "GPUs"]
    kinds: tuple[Capacity, ...]
    """Ways of having hosts that count against it."""
    source: str


@dataclass(frozen=True, slots=True)
class Shape:
    """One machine type with GPUs."""

    name: str
    target: str
    board: str
    """Name of its GPU board."""
    fabric: Fabric
    transport: str
    """Plugin that NCCL needs on it; empty: NCCL's own verbs."""
    nics: tuple[Nic, ...]
    """Interfaces that a launch declares; empty where the cloud attaches them by itself."""
    rails: int
    """Network devices of the fabric on one host (count)."""
    rail_gbit: int
    """Speed of one of them (Gbit/s)."""
    rdma_resource: str
    """Extended resource by which a pod asks for the fabric."""
    rdma_requested: int
    """How much of it a pod with all GPUs asks for: the devices, or 1 where it is a flag (count)."""
    cpus: int
    """Logical CPUs (count)."""
    memory_gib: int
    """Memory of the host (GiB)."""
    max_pods: int
    """Pods that the network lets on one host (count); 0: what the cluster says."""
    capacity: tuple[Capacity, ...]
    """Ways to have it."""
    source: str
    metal: bool = False
    """Whether it is a machine of its own."""
    places: tuple[str, ...] = ()
    """Regions or zones that are known to have it; empty: nobody publishes a list that can be read."""
    quota: Quota | None = None
    """None: the contract about the hosts says how many there are."""

    def is_sold_in(self, place: str) -> bool | None:
        """Whether a region or zone has it; None where no list is known that could tell."""
        if not self.places:
            return None
        return any(place == known or known.startswith(f"{place}-") for known in self.places)

    def on_board(self) -> Board:
        """The board with the CPUs, memory and rails that this host has around it."""
        return replace(
            BOARDS[self.board],
            rails=self.rails,
            rail_gbit=self.rail_gbit,
            cpus=self.cpus,
            memory_gib=int(self.memory_gib * (1 - RESERVED_SHARE)),
            source=self.source,
        )
