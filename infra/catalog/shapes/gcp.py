"""Shapes of Google Cloud: a network for each GPU beside the plain ones."""

from __future__ import annotations

from infra.catalog.shapes.shape import Capacity, Nic, Shape

_TYPES = "Compute Engine, accelerator-optimized machines; networks: cluster-toolkit 1.95.0 examples/gke-{}"
_HAD: tuple[Capacity, ...] = ("on-demand", "reservation", "flex-start")

_GPU_NICS = tuple(Nic(card, 0, "gpu-nic", 200) for card in range(1, 9))
"""Exactly eight: one plain network more takes the PCI slot of a GPU's (AICR, gke-tcpxo-networking.md)."""
_ROCE = (Nic(1, 0, "gvnic", 200), *(Nic(card, 0, "rdma", 400) for card in range(2, 10)))
"""A second plain network, then one RoCE network of each GPU."""

SHAPES = (
    Shape("a3-megagpu-8g", "gke", "hgx-h100", "roce", "tcpxo", _GPU_NICS, 8, 200, "", 0, 208, 1_743, 0, _HAD,
          _TYPES.format("a3-megagpu")),
    Shape("a3-ultragpu-8g", "gke", "hgx-h200", "roce", "gib", _ROCE, 8, 400, "", 0, 224, 2_749, 0, _HAD,
          _TYPES.format("a3-ultragpu")),
    Shape("a4-highgpu-8g", "gke", "hgx-b200", "roce", "gib", _ROCE, 8, 400, "", 0, 224, 3_695, 0, _HAD,
          _TYPES.format("a4")),
)  # fmt: skip
"""With eight GPUs each; pods get the networks by annotation, not by a resource. Memory: GB of the page in GiB."""
