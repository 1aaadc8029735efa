"""Shapes of OCI: bare metal; the cards of the fabric are there at boot and are brought up by the cloud's agent."""

from __future__ import annotations

from infra.catalog.shapes.shape import Capacity, Quota, Shape

_SHAPES = "OCI compute shapes; VFs: oci-hpc-oke 26.7.0, docs/using-rdma-network-interfaces-in-manifests.md"
_QUOTAS = "OCI compute quotas, 2026"
_LIKE = _QUOTAS + "; not in the list that was read, named as its siblings are"
_HAD: tuple[Capacity, ...] = ("on-demand", "reservation")


def _shape(
    name: str, board: str, rails: int, gbit: int, cpus: int, memory_gib: int, *, gpus: int = 8, listed: bool = True
) -> Shape:
    """A shape.

    Args:
        listed: whether its limit is in the published list.
    """
    limit = f"gpu-{name.split('.')[2].lower()}-count"
    quota = Quota(limit, gpus, "GPUs", ("on-demand",), _QUOTAS if listed else _LIKE)
    return Shape(
        name, "oci", board, "roce", "", (), rails, gbit, "nvidia.com/rdma-vf", rails, cpus, memory_gib, 0, _HAD,
        _SHAPES, metal=True, quota=quota,
    )  # fmt: skip


SHAPES = (
    _shape("BM.GPU.H100.8", "hgx-h100", 16, 200, 224, 2_048, listed=False),
    _shape("BM.GPU.H200.8", "hgx-h200", 8, 400, 224, 3_072),
    _shape("BM.GPU.B200.8", "hgx-b200", 8, 400, 256, 4_096),
    _shape("BM.GPU.B300.8", "hgx-b300", 16, 400, 256, 4_096, listed=False),
    _shape("BM.GPU.GB200.4", "nvl72-gb200", 4, 400, 144, 960, gpus=4, listed=False),
    _shape("BM.GPU.GB300.4", "nvl72-gb300", 8, 400, 144, 960, gpus=4, listed=False),
)
"""With eight GPUs each, or four on a tray of a rack. One device of a B300's or GB300's card is half of it: a port of
400 Gbit/s. Cores and memory of B300 are not in the list that was read: those of B200 stand in."""
