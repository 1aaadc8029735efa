"""What was released to go together: Kubernetes, the two operators, driver branches, CUDA and the exporter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuOperatorRow:
    """One version of the GPU Operator with what it was validated with."""

    version: str
    kubernetes: tuple[int, int]
    """Oldest and newest minor version of Kubernetes 1."""
    dra_kubernetes: int | None
    """Oldest minor version for its DRA stack, with which drivers got upgrade policies; None: it has neither."""
    drivers: tuple[str, ...]
    """Versions of the driver, its own default first."""
    precompiled: tuple[str, ...]
    """Branches that are published ready for a kernel."""
    network_operators: tuple[str, ...]
    """Lines of the Network Operator (``YY.M``) that it was run with."""
    gdrcopy: str
    gds: str
    """Versions of gdrdrv and nvidia-fs that its chart has."""
    dcgm_exporter: str
    nfd: str
    """Version of Node Feature Discovery in its chart."""
    source: str

    @property
    def branches(self) -> tuple[str, ...]:
        """Branches of its drivers, its default's first."""
        return tuple(dict.fromkeys(branch_of(driver) for driver in self.drivers))


@dataclass(frozen=True, slots=True)
class NetworkOperatorRow:
    """One version of the Network Operator."""

    version: str
    kubernetes: tuple[int, int | None]
    """Oldest minor version that its chart takes, and the newest; None: nobody says."""
    doca_driver: str
    source: str


@dataclass(frozen=True, slots=True)
class DriverBranch:
    """One branch of NVIDIA's data-centre driver."""

    name: str
    kind: str
    """``long-term``, ``production`` or ``new-feature``."""
    ends: str
    """Month of its last fix, as ``YYYY-MM``; empty where no page that we read says it."""
    source: str


_DOCS = "cloud-native-docs of 2026-08-21, {}; values.yaml of tag {}"

GPU_OPERATORS: Mapping[str, GpuOperatorRow] = {
    row.version: row
    for row in (
        GpuOperatorRow("v26.7.0", (33, 36), 34, ("595.91.07", "610.57.04", "580.173.02", "535.309.01"),
                       ("595", "580"), ("26.4", "26.1", "25.10", "25.7"), "v2.6", "2.29.4", "4.6.0-4.8.3", "0.19.0",
                       _DOCS.format("platform-support, life-cycle-policy and release-notes of 26.7.0", "v26.7.0")
                       + "; Network Operator 26.4: Azure/aks-rdma-infiniband runs it with the version before"),
        GpuOperatorRow("v26.3.3", (32, 35), None,
                       ("580.126.20", "580.159.03", "595.71.05", "595.58.03", "590.48.01", "570.211.01", "535.309.01"),
                       ("580", "570", "535"), ("26.4", "26.1", "25.10", "25.7"), "v2.5.2", "2.27.3", "4.5.3-4.8.2",
                       "0.18.3",
                       _DOCS.format("platform-support and component matrix of 26.3.1", "v26.3.3")
                       + "; Network Operator 26.4: Azure/aks-rdma-infiniband, tests/setup-infra/deploy-aks.sh"),
    )
}  # fmt: skip
"""By version of the chart, newest first. Kubernetes: Ubuntu 24.04 on bare metal, EKS and GKE, the widest that all
three have in common."""

NETWORK_OPERATORS: Mapping[str, NetworkOperatorRow] = {
    row.version: row
    for row in (
        NetworkOperatorRow("26.4.1", (21, None), "doca3.4.1-26.04-1.1.0.0-1",
                           "network-operator tag v26.4.1: Chart.yaml kubeVersion, hack/release.yaml"),
        NetworkOperatorRow("26.4.0", (21, None), "doca3.4.0-26.04-0.8.6.0-0",
                           "network-operator tag v26.4.0: Chart.yaml kubeVersion, hack/release.yaml"),
    )
}  # fmt: skip
"""By version of the chart, newest first."""

_BRANCHES = "NVIDIA, Supported Drivers and CUDA Toolkit Versions (pages of R615 and R620)"
_LISTED = "listed in the GPU Operator's component matrix of 26.3; its end is not on the pages we read"

DRIVER_BRANCHES: Mapping[str, DriverBranch] = {
    row.name: row
    for row in (
        DriverBranch("620", "long-term", "2029-09", _BRANCHES),
        DriverBranch("610", "new-feature", "2026-08", _BRANCHES),
        DriverBranch("595", "production", "2027-03", _BRANCHES),
        DriverBranch("590", "new-feature", "", _LISTED),
        DriverBranch("580", "long-term", "2028-06", _BRANCHES),
        DriverBranch("570", "production", "", _LISTED),
        DriverBranch("535", "long-term", "2026-06", _BRANCHES),
    )
}  # fmt: skip
"""By name, newest first."""

CUDA_SINCE: Mapping[int, int] = {13: 580, 12: 525, 11: 450}
"""Major version of CUDA to the oldest branch that it runs on without the forward-compatibility package.

Source: NVIDIA, CUDA Compatibility, Minor Version Compatibility, table 1.
"""


def branch_of(driver: str) -> str:
    """Branch of a driver's version: ``595`` of ``595.91.07``."""
    return driver.partition(".")[0]


def runs_cuda(branch: str) -> int:
    """Newest major version of CUDA that a branch runs; 0 where it is older than all that we know."""
    return max((major for major, since in CUDA_SINCE.items() if int(branch) >= since), default=0)
