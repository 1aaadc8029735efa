"""Shapes of AWS: one or two interfaces on the first card, one EFA on each other.

An EFA on a card that has none refuses the launch (aws-parallelcluster#7143), so each card is told by what it can.
"""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.shapes.shape import Capacity, Nic, Quota, Shape

RESOURCE = "vpc.amazonaws.com/efa"
"""Resource of the EFA device plugin. Source: aws-efa-k8s-device-plugin 0.5."""

PLUGIN = "aws-ofi-nccl"
"""NCCL's way to EFA. Source: AWS, Get started with EFA and NCCL."""

_CARDS = "cards: amazon-vpc-cni-k8s pkg/vpc/vpc_ip_resource_limit.go; pods: misc/eni-max-pods.txt, 2026-08; "
_KARPENTER = "CPUs, memory, EFA: karpenter-provider-aws instance-types.md, 2026-08"
_HAD: tuple[Capacity, ...] = ("on-demand", "reservation", "capacity-block")
_QUOTA = "Service Quotas of EC2, L-417A185B; a reservation counts, days that are booked as a capacity block do not"


def interfaces(cards: int, gbit: int, *, first_has_efa: bool) -> Iterator[Nic]:
    """Lay out the interfaces of a host.

    Args:
        cards: network cards (count).
        gbit: speed of one EFA (Gbit/s).
        first_has_efa: whether card 0 takes an EFA beside the plain interface that every host needs on it.
    Source: AWS, Maximize network bandwidth on instances with multiple network cards: the first interface is a plain
        one, EFAs beside it are at device 1, those on cards of their own at device 0.
    """
    yield Nic(0, 0, "interface", gbit)
    if first_has_efa:
        yield Nic(0, 1, "efa-only", gbit)
    for card in range(1, cards):
        yield Nic(card, 0, "efa-only", gbit)


def _quota(cpus: int) -> Quota:
    return Quota("Running On-Demand P instances (L-417A185B)", cpus, "vCPUs", ("on-demand", "reservation"), _QUOTA)


def _shape(name: str, board: str, cards: int, gbit: int, memory_gib: int, pods: int, *, first: bool = True) -> Shape:
    nics = tuple(interfaces(cards, gbit, first_has_efa=first))
    rails = sum(nic.is_fabric for nic in nics)
    return Shape(
        name, "eks", board, "efa", PLUGIN, nics, rails, gbit, RESOURCE, rails, 192, memory_gib, pods, _HAD,
        _CARDS + _KARPENTER, quota=_quota(192),
    )  # fmt: skip


_TRAY = (Nic(0, 0, "interface", 400), *(Nic(card, 0, "efa-only", 200) for card in range(1, 17, 2)))
"""Eight EFAs at half speed: each two share a GPU that takes 400 Gbit/s, and cards beside them share the wire. Source:
AWS, EFA on accelerated instance types, which knows this layout and one of four at 400 Gbit/s."""

SHAPES = (
    _shape("p5.48xlarge", "hgx-h100", 32, 100, 2_048, 100),
    _shape("p5e.48xlarge", "hgx-h200", 32, 100, 2_048, 100),
    _shape("p5en.48xlarge", "hgx-h200", 16, 200, 2_048, 198),
    _shape("p6-b200.48xlarge", "hgx-b200", 8, 400, 2_048, 198),
    _shape("p6-b300.48xlarge", "hgx-b300", 17, 400, 4_096, 198, first=False),
    Shape("p6e-gb200.36xlarge", "eks", "nvl72-gb200", "efa", PLUGIN, _TRAY, 8, 200, RESOURCE, 8, 144, 960, 0,
          ("capacity-block",), "AWS, P6e-GB200 UltraServers: 18 hosts, had as a whole by capacity block"),
)  # fmt: skip
"""With eight GPUs each, or four on a tray of an UltraServer. AWS's API alone tells regions, per account."""
