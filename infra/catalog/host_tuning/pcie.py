"""PCIe and IOMMU: what stands between a GPU and its NIC."""

from __future__ import annotations

from infra.catalog.boards import BOARDS
from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import GPU_BOARDS, GPUS, GPUS_METAL, METAL, RDMA_METAL, by_board
from infra.catalog.host_tuning.parsers import boot, nvidia, pci, text
from infra.catalog.host_tuning.setting import Scope, Setting, Variable, command, files

WHAT = "PCIe of a bare-metal GPU host - IOMMU, ACS, read requests, power saving - live and at boot."
"""What the role does."""

VARIABLES = (
    Variable("pcie_machine", "Kind of machine; a guest keeps ACS, and its host owns the rest.", "metal",
             "NCCL user guide, troubleshooting of GPUs", choices=("metal", "virtual")),
    Variable("pcie_drained", "Whether the play has drained the host; links in use are not changed otherwise.", False,
             "the drain play says so"),
)  # fmt: skip

_NCCL = "NCCL user guide, troubleshooting of GPUs"
_FABRIC_BOARDS = Scope(boards=GPU_BOARDS, fabrics=("roce", "infiniband"), machine="metal")

SETTINGS = (
    Setting(
        id="pcie.acs", variable="pcie_acs", what="Access control of PCIe bridges (ACS source validation)",
        why="copies between GPU and NIC go up to the CPU and back: half the bandwidth, hangs, wrong data",
        value="SrcValid-", also=("SrcValid-",), choices=("SrcValid-", "SrcValid+"), readings=(readings.LSPCI,),
        parse=pci.acs,
        scope=METAL, source=f"{_NCCL}; nccl-tests#252, #112; nccl#606, #949, #1086, #304, #2079", severity="page",
    ),
    Setting(
        id="pcie.iommu", variable="pcie_iommu", what="IOMMU passes addresses through (kernel: iommu=)",
        why="remapping sends copies between devices by way of the root complex, or hangs them", value="pt",
        also=("off",), choices=("pt", "off"), readings=(readings.COMMAND_LINE,), parse=boot.boot_word,
        argument="iommu", source=f"{_NCCL}; nccl#257; vllm#33041", reboot=True,
        scope=Scope(machine="metal", cpu="x86"),
    ),
    Setting(
        id="pcie.iommu_domains", what="Domains of the IOMMU, as devices have them", value="identity",
        why="the command line is a wish: a device whose addresses are remapped hangs in copies to its peer",
        readings=(files("/sys/kernel/iommu_groups/*/type", optional=True),), parse=text.words, scope=METAL,
        fix="reboot with iommu=pt; else turn VT-d or AMD-Vi off in the firmware's setup",
        source="Linux ABI sysfs-kernel-iommu_groups: identity is passthrough",
    ),
    Setting(
        id="pcie.max_read_request", variable="pcie_max_read_request", choices=(128, 256, 512, 1024, 2048, 4096),
        what="Largest read request of each NIC", why="small requests do not fill the link", value=4_096,
        compare="at_least", readings=(readings.LSPCI,), parse=pci.field, argument=r"15b3 MaxReadReq (\d+) bytes",
        unit="bytes", scope=RDMA_METAL, source="nic-configuration-operator, pciPerformanceOptimized",
    ),
    Setting(
        id="pcie.relaxed_ordering", variable="pcie_relaxed_ordering", choices=("RlxdOrd+", "RlxdOrd-"),
        what="Whether a NIC may send writes in relaxed order", value="RlxdOrd+",
        why="writes that wait for each other do not fill the link; NCCL asks for it by memory key",
        readings=(readings.LSPCI,), parse=pci.field, argument="15b3 (RlxdOrd[+-])", scope=RDMA_METAL,
        source="NCCL user guide, env: NCCL_IB_PCI_RELAXED_ORDERING is 2 by default",
    ),
    Setting(
        id="pcie.nic_links", what="Speed and width of each NIC's link", value="full", severity="page",
        why="a link that trained down halves the bandwidth of one rail, and with it of all",
        readings=(readings.LSPCI,), parse=pci.links, argument="15b3", scope=RDMA_METAL,
        fix="reseat the NIC or its riser; compare with the slot's generation in the firmware's setup",
        source="imbue-ai/cluster-health health_checks.py: LnkSta equals LnkCap",
    ),
    Setting(
        id="pcie.gpu_generation", what="PCIe generation that each GPU's link can reach here", compare="at_least",
        why="copies from host memory are slower by half with each generation", value=5,
        cases=by_board({"hgx-b300": 6}), readings=(readings.GPUS,), parse=nvidia.gpu, scope=GPUS_METAL,
        argument="pcie.link.gen.max", fix="set the slots to their highest generation in the firmware's setup",
        source="aiconfigurator systems/*.yaml: 128 GB/s on B300, 64 on others",
    ),
    Setting(
        id="pcie.gpu_width", what="PCIe lanes of each GPU", why="DCGM's own limit for B300 is one lane: x8 passes it",
        value=16, readings=(readings.GPUS,), parse=nvidia.gpu, argument="pcie.link.width.current", unit="lanes",
        scope=GPUS_METAL, severity="page", fix="reseat the board; it is a repair when a reboot does not help",
        source="DCGM nvvs/diag-skus.yaml.in, id 3182",
    ),
    Setting(
        id="pcie.link_messages", what="Kernel messages of links that are slower than their devices", value=0,
        why="the kernel tells what a listing of one device does not: a slow link further up", severity="note",
        readings=(readings.KERNEL_LOG,), parse=text.faults, argument="available PCIe bandwidth, limited by",
        scope=METAL, fix="see dmesg for the link that it names", source="imbue-ai/cluster-health health_checks.py",
    ),
    Setting(
        id="pcie.errors", what="Errors that a link could not correct", value=0, unit="errors",
        why="data was lost on the way", readings=(files("/sys/bus/pci/devices/*/aer_dev_fatal", optional=True),),
        parse=text.pattern, argument=r"TOTAL_ERR_FATAL (?P<value>\d+)", scope=METAL, severity="page",
        fix="drain the host and reseat the device", source="imbue-ai/cluster-health; Linux pcieaer-howto.rst",
    ),
    Setting(
        id="pcie.power_saving", variable="pcie_power_saving", value="performance",
        choices=("default", "performance", "powersave", "powersupersave"), scope=METAL,
        what="Policy of link power saving (ASPM); performance has none", why="a link that sleeps wakes late",
        readings=(files("/sys/module/pcie_aspm/parameters/policy", optional=True),), parse=text.bracketed,
        source="Linux kernel-parameters.txt, pcie_aspm.policy; a kernel without power saving has no such file",
    ),
    Setting(
        id="pcie.aspm", what="Power saving of each NIC's link (ASPM)", value="Disabled", severity="note",
        why="a link that sleeps wakes late", readings=(readings.LSPCI,), parse=pci.field,
        argument=r"15b3 LnkCtl:\s+ASPM (Disabled|L0s L1|L0s|L1)", scope=RDMA_METAL,
        fix="turn ASPM off in the firmware's setup, or boot with pcie_aspm=off",
        source="community lists of firmware settings; not checked against a vendor's guide",
    ),
    Setting(
        id="pcie.gpus", what="GPUs on the bus, by id", value=None, severity="page",
        why="a GPU that fell off the bus, or a board other than the plan's",
        cases=by_board({name: f"{BOARDS[name].gpus} x 10de:{BOARDS[name].pci_device}" for name in GPU_BOARDS}),
        readings=(readings.LSPCI,), parse=pci.devices, argument="10de 0300 0302", scope=GPUS,
        fix="reboot the host; a GPU that stays away is a repair, an id of another board a wrong plan",
        source="open-gpu-kernel-modules README; ids and not names, as names differ by driver",
    ),
    Setting(
        id="pcie.gpu_nic_paths", what="Way from each GPU to its nearest NIC", value="PIX", also=("PXB",),
        why="a way over the CPU has half the bandwidth, and RDMA is refused on some", severity="page",
        readings=(command("nvidia-smi", "topo", "-m"),), parse=pci.paths, scope=_FABRIC_BOARDS,
        fix="see nvidia-smi topo -m; NODE and SYS say that a NIC is in a wrong slot",
        source="nvidia-smi topo: legend; sriov-network-operator#736; OCI B300: one NIC of each GPU's bridge",
    ),
)  # fmt: skip
"""Nearly all on metal: a guest needs ACS on, and does not see the bridges."""
