"""Shapes of Google Cloud: a network for each GPU beside the plain ones."""

from __future__ import annotations

from infra.catalog.shapes.shape import Capacity, Nic, Quota, Shape

_TYPES = "Compute Engine, accelerator-optimized machines; networks: cluster-toolkit 1.95.0 examples/gke-{}"
_HAD: tuple[Capacity, ...] = ("on-demand", "reservation", "flex-start")

_A3_MEGA = (
    "asia-east1-c", "asia-northeast1-b", "asia-southeast1-b", "asia-southeast1-c", "australia-southeast1-c",
    "europe-north1-c", "europe-west1-b", "europe-west1-c", "europe-west3-c", "europe-west4-b", "europe-west4-c",
    "us-central1-a", "us-central1-b", "us-central1-c", "us-east4-a", "us-east4-b", "us-east4-c", "us-east5-a",
    "us-west1-a", "us-west1-b", "us-west4-a",
)  # fmt: skip
_A3_ULTRA = (
    "asia-south1-b", "asia-south2-c", "europe-west1-b", "europe-west4-a", "us-central1-b", "us-east4-b", "us-east5-a",
    "us-south1-b", "us-west1-c",
)  # fmt: skip
_A4 = (
    "asia-northeast1-b", "asia-southeast1-b", "europe-north1-b", "europe-west4-b", "us-central1-b", "us-east1-b",
    "us-east4-b", "us-south1-b", "us-west2-c", "us-west3-b", "us-west3-c",
)  # fmt: skip
"""Zones that have each. Source: skypilot-catalog v8 gcp/vms.csv, read from Google's API, 2026. A reservation in another
zone shows that the list is old, and is believed."""

_GPU_NICS = tuple(Nic(card, 0, "gpu-nic", 200) for card in range(1, 9))
"""Exactly eight: one plain network more takes the PCI slot of a GPU's (AICR, gke-tcpxo-networking.md)."""
_ROCE = (Nic(1, 0, "gvnic", 200), *(Nic(card, 0, "rdma", 400) for card in range(2, 10)))
"""A second plain network, then one RoCE network of each GPU."""

_TRAY = (Nic(1, 0, "gvnic", 200), *(Nic(card, 0, "rdma", 400) for card in range(2, 6)))
"""The same on a tray of a rack."""


def _quota(family: str, gpus: int = 8) -> Quota:
    """Of one GPU family in one region; what a reservation holds counted when it was made."""
    name = f"compute.googleapis.com/gpus_per_gpu_family ({family})"
    return Quota(name, gpus, "GPUs", ("on-demand", "flex-start"), "Compute Engine, allocation quotas: GPU quota")


SHAPES = (
    Shape("a3-megagpu-8g", "gke", "hgx-h100", "roce", "tcpxo", _GPU_NICS, 8, 200, "", 0, 208, 1_743, 0, _HAD,
          _TYPES.format("a3-megagpu"), places=_A3_MEGA, quota=_quota("NVIDIA_H100_MEGA")),
    Shape("a3-ultragpu-8g", "gke", "hgx-h200", "roce", "gib", _ROCE, 8, 400, "", 0, 224, 2_749, 0, _HAD,
          _TYPES.format("a3-ultragpu"), places=_A3_ULTRA, quota=_quota("NVIDIA_H200")),
    Shape("a4-highgpu-8g", "gke", "hgx-b200", "roce", "gib", _ROCE, 8, 400, "", 0, 224, 3_695, 0, _HAD,
          _TYPES.format("a4"), places=_A4, quota=_quota("NVIDIA_B200")),
    Shape("a4x-highgpu-4g", "gke", "nvl72-gb200", "roce", "gib", _TRAY, 4, 400, "", 0, 140, 823, 0,
          ("on-demand", "reservation"), _TYPES.format("a4x"), quota=_quota("NVIDIA_GB200", 4)),
)  # fmt: skip
"""With eight GPUs each, or four on a tray of a rack; pods get the networks by annotation, not by a resource. Memory:
GB of the page in GiB."""
