"""Who owns what on a GPU host: driver, toolkit, OFED and device plugin have one owner each, by target and image.

Two owners of one driver crash in turns; a toolkit over the cloud's own rewrites containerd's config for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Owner = Literal["hosts", "image", "cloud", "operator", "nobody"]
"""``hosts``: our Ansible roles; ``image``: the host's image brings it; ``cloud``: the cloud's own agents; ``operator``:
GPU or Network Operator; ``nobody``: it is not there, and not needed."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """One way in which the software of a GPU host is shared out."""

    name: str
    target: str
    driver: Owner
    toolkit: Owner
    ofed: Owner
    device_plugin: Owner
    gpu_operator: bool
    """Whether the GPU Operator may be installed at all."""
    network_operator: bool
    runtime_class: str
    """Runtime class that pods with GPUs name; empty where the default one has the GPUs."""
    driver_root: str
    """Where the driver's files lie on the host."""
    peermem: bool
    """Whether the driver is to load nvidia-peermem; else memory is shared by DMA-BUF, or not at all."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Values of the GPU Operator's chart beyond those that follow from the owners."""
    host_label: tuple[str, str] | None = None
    """Label by which the cloud leaves its own device plugin off a host."""
    source: str = ""


OWNERSHIPS: Mapping[str, Ownership] = {
    row.name: row
    for row in (
        Ownership("baremetal", "baremetal", "hosts", "operator", "hosts", "operator", True, True, "nvidia", "/", False,
                  source="GPU Operator 26.7 values: driver.enabled; host plays own the driver (design)"),
        Ownership("baremetal-operator", "baremetal", "operator", "operator", "operator", "operator", True, True,
                  "nvidia", "/run/nvidia/driver", True, source="GPU Operator 26.7 values"),
        Ownership("eks-al2023", "eks", "image", "image", "nobody", "operator", True, False, "", "/", False,
                  source="EKS, AL2023 NVIDIA image: driver and toolkit are in it; EFA needs no OFED"),
        Ownership("eks-ubuntu", "eks", "operator", "operator", "nobody", "operator", True, False, "nvidia",
                  "/run/nvidia/driver", False, source="GPU Operator on EKS with Ubuntu images"),
        Ownership("gke-cos", "gke", "cloud", "operator", "nobody", "operator", True, False, "nvidia",
                  "/home/kubernetes/bin/nvidia", False,
                  {"hostPaths": {"driverInstallDir": "/home/kubernetes/bin/nvidia"},
                   "toolkit": {"installDir": "/home/kubernetes/bin/nvidia",
                               "env": [{"name": "RUNTIME_CONFIG_SOURCE", "value": "file"}]},
                   "cdi": {"enabled": True}},
                  ("gke-no-default-nvidia-gpu-device-plugin", "true"),
                  "AICR recipes/components/gpu-operator/values-gke-cos.yaml"),
        Ownership("aks-ubuntu", "aks", "operator", "operator", "operator", "operator", True, True, "nvidia",
                  "/run/nvidia/driver", True,
                  {"migManager": {"enabled": False}, "vgpuDeviceManager": {"enabled": False},
                   "vfioManager": {"enabled": False}, "sandboxWorkloads": {"enabled": False}},
                  source="aks-rdma-infiniband docs/configurations/02-gpu-drivers.md: gpu_profile None"),
        Ownership("oci-image", "oci", "image", "operator", "image", "operator", True, True, "nvidia", "/", False,
                  host_label=("oci.oraclecloud.com/disable-gpu-device-plugin", "true"),
                  source="oci-hpc-oke 26.7.0: image with DOCA-OFED and the open driver"),
        Ownership("coreweave", "coreweave", "cloud", "cloud", "cloud", "cloud", False, False, "", "/", False,
                  source="CoreWeave docs, GPU driver management on CKS: the platform's own, no operator"),
        Ownership("lab", "lab", "operator", "operator", "nobody", "operator", True, False, "nvidia",
                  "/run/nvidia/driver", False, source="our own lab: the real GPU Operator over simulated hosts"),
    )
}  # fmt: skip
"""By name; the first of a target is its default."""


def of_target(target: str) -> tuple[Ownership, ...]:
    """All that a target offers, its default first."""
    return tuple(row for row in OWNERSHIPS.values() if row.target == target)
