"""PCIe and IOMMU: what stands between a GPU and its NIC."""

from __future__ import annotations

from infra.catalog.host_tuning import parsers
from infra.catalog.host_tuning.setting import Means, Reading, Scope, Setting

ROLE = "pcie"
"""Role that applies them."""

_METAL = Scope(machine="metal")
_LSPCI = Reading(Means.COMMAND, ("lspci", "-vvv"))
_MELLANOX = Reading(Means.COMMAND, ("lspci", "-vv", "-d", "15b3:"))

SETTINGS = (
    Setting(
        id="pcie.acs", role=ROLE, variable="pcie_acs", what="Access control of PCIe bridges (ACS source validation)",
        why="copies between GPU and NIC go up to the CPU and back: half the bandwidth, hangs, wrong data",
        value="SrcValid-", compare="equals", readings=(_LSPCI,), parse=parsers.acs_bits, scope=_METAL,
        source="NCCL user guide, troubleshooting of GPUs; nccl-tests#252, #112; nccl#606, #949, #1086",
        severity="page",
    ),
    Setting(
        id="pcie.iommu", role=ROLE, variable="pcie_iommu", what="IOMMU passes addresses through (kernel: iommu=)",
        why="remapping sends copies between devices by way of the root complex, or hangs them", value="pt",
        compare="equals", readings=(Reading(Means.FILES, ("/proc/cmdline",)),), parse=parsers.boot_word,
        argument="iommu", source="NCCL user guide, troubleshooting of GPUs; nccl#257", reboot=True,
        scope=_METAL,
    ),
    Setting(
        id="pcie.max_read_request", role=ROLE, variable="pcie_max_read_request",
        what="Largest read request of each NIC", why="small requests do not fill the link", value=4_096,
        compare="at_least", readings=(_MELLANOX,), parse=parsers.read_requests, unit="bytes", scope=_METAL,
        source="nic-configuration-operator, pciPerformanceOptimized",
    ),
    Setting(
        id="pcie.link", role=ROLE, variable="", what="NICs whose PCIe link runs below what both ends can",
        why="a link that trained down halves the bandwidth of one rail, and with it of all", value=(),
        compare="equals", readings=(_MELLANOX,), parse=parsers.link_losses, severity="page", scope=_METAL,
        source="imbue-ai/cluster-health health_checks.py: LnkSta equals LnkCap",
    ),
)  # fmt: skip
"""Only on metal: a guest needs ACS on, and does not see the bridges."""
