"""Shapes of Azure: the cloud attaches the InfiniBand cards by itself; hosts of one pool stand on one fabric."""

from __future__ import annotations

from infra.catalog.shapes.shape import Capacity, Quota, Shape

_DOCS = "Azure compute docs, nd-{}-series.md, 2026-08; resource of the shared plugin: aks-rdma-infiniband, 2026-07"
_FAMILIES = "Azure quota families by SKU (Compute, Usage - List); name as public SKU lists have it"
_HAD: tuple[Capacity, ...] = ("on-demand", "reservation")


def _shape(name: str, board: str, rails: int, gbit: int, cpus: int, memory_gib: int, family: str, page: str) -> Shape:
    quota = Quota(family, cpus, "vCPUs", _HAD, _FAMILIES)
    return Shape(
        name, "aks", board, "infiniband", "", (), rails, gbit, "rdma/ib", rails, cpus, memory_gib, 0, _HAD,
        _DOCS.format(page), quota=quota,
    )  # fmt: skip


SHAPES = (
    _shape("Standard_ND96isr_H100_v5", "hgx-h100", 8, 400, 96, 1_900, "standardNDSH100v5Family", "h100-v5"),
    _shape("Standard_ND96isr_H200_v5", "hgx-h200", 8, 400, 96, 1_850, "standardNDISRH200V5Family", "h200-v5"),
    _shape("Standard_ND128isr_NDR_GB200_v6", "nvl72-gb200", 4, 400, 128, 900, "standardNDISRGB200V6NDRFamily",
           "gb200-v6"),
    _shape("Standard_ND128isr_GB300_v6", "nvl72-gb300", 4, 800, 128, 864, "standardNDISRGB300V6Family", "gb300-v6"),
)  # fmt: skip
"""With eight GPUs each, or four on a tray of a rack; Azure sells no HGX B200 or B300. Its regions are told by its API
alone, per subscription."""
