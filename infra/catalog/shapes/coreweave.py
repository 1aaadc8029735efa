"""Shapes of CoreWeave: the platform attaches the cards; trays of a rack are had by the rack."""

from __future__ import annotations

from infra.catalog.shapes.shape import Capacity, Fabric, Shape

_CKS = "CoreWeave docs, GPU instances and Use RDMA on CKS: rdma/ib is a flag, not a count of cards; zones: 2026-10"
_HAD: tuple[Capacity, ...] = ("on-demand", "reservation")


def _shape(name: str, board: str, cpus: int, memory_gib: int, zones: str, *, rails: int = 8, gbit: int = 400) -> Shape:
    fabric: Fabric = "roce" if name.endswith("-e") else "infiniband"
    return Shape(
        name, "coreweave", board, fabric, "", (), rails, gbit, "rdma/ib", 1, cpus, memory_gib, 0, _HAD, _CKS,
        metal=True, places=tuple(zones.split()),
    )  # fmt: skip


SHAPES = (
    _shape("gd-8xh100ib-i128", "hgx-h100", 128, 2_048, "rno2a us-central-06a us-east-01a us-east-02a us-east-04a "
           "us-east-06a us-west-01a us-west-02b us-west-04a us-west-09b"),
    _shape("gd-8xh200ib-i128", "hgx-h200", 128, 2_048, "eu-south-03b us-east-01a us-east-02a us-east-04a us-east-08a "
           "us-west-04a"),
    _shape("b200-8x", "hgx-b200", 128, 2_048, "eu-south-04a us-central-07a us-east-13a us-east-15a us-west-09b"),
    _shape("b300-8x", "hgx-b300", 192, 4_096, "us-central-06a us-east-13a us-west-01a us-west-10a", gbit=800),
    _shape("gb200-4x", "nvl72-gb200", 144, 960, "ca-east-01a us-east-01a us-east-02a us-east-08a us-east-13a "
           "us-west-01a", rails=4),
    _shape("gb300-4x", "nvl72-gb300", 144, 960, "ca-east-01a us-central-07a us-central-09a us-west-01a", rails=4,
           gbit=800),
    _shape("gb300-4x-e", "nvl72-gb300", 144, 960, "", rails=4, gbit=800),
)  # fmt: skip
"""With eight GPUs each, or four on a tray of a rack."""
