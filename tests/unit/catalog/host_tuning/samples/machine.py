"""Kernel settings, CPUs and PCIe."""

from __future__ import annotations

from tests.unit.catalog.host_tuning.samples.form import ACTIVE, INACTIVE, NOT_FOUND, Sample, one

BRIDGE = (
    "0000:16:00.0 PCI bridge [0604]: Broadcom / LSI PEX890xx [1000:c030] (rev b0)\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16\n\t\tLnkSta:\tSpeed 16GT/s, Width x16 (ok)\n"
    "\tCapabilities: [1c0 v1] Access Control Services\n\t\tACSCap:\tSrcValid+ TransBlk+\n"
    "\t\tACSCtl:\tSrcValid{acs} TransBlk-\n"
)
NIC = (
    "0000:18:00.0 Infiniband controller [0207]: Mellanox MT2910 Family [ConnectX-7] [15b3:1021]\n"
    "\t\tDevCtl:\tCorrErr+ NonFatalErr+\n\t\t\tRlxdOrd{ordering} ExtTag+\n"
    "\t\t\tMaxPayload 512 bytes, MaxReadReq {size} bytes\n"
    "\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported\n\t\tLnkCtl:\tASPM {aspm}; RCB 64 bytes\n"
    "\t\tLnkSta:\tSpeed {speed}, Width {width}\n"
)
GPU = "0000:{bus:02x}:00.0 3D controller [0302]: NVIDIA Corporation Device [10de:{device}] (rev a1)\n"


def lspci(*, acs: str = "-", ordering: str = "+", size: int = 4096, aspm: str = "Disabled", width: str = "x16") -> str:
    """Listing of a bridge and a NIC, the NIC as it should be unless something else is said."""
    speed = "32GT/s" if width == "x16" else "16GT/s (downgraded)"
    return BRIDGE.format(acs=acs) + NIC.format(ordering=ordering, size=size, aspm=aspm, width=width, speed=speed)


def gpus(count: int, device: str = "3182") -> str:
    """Listing of GPUs."""
    return "".join(GPU.format(bus=16 + n, device=device) for n in range(count))


def _idle(*disabled: str) -> tuple[dict[str, str], dict[str, str]]:
    folder = "/sys/devices/system/cpu/cpu0/cpuidle"
    latencies = {f"{folder}/state{n}/latency": f"{us}\n" for n, us in enumerate((0, 1, 133))}
    return latencies, {f"{folder}/state{n}/disable": f"{word}\n" for n, word in enumerate(disabled)}


def _topology(word: str) -> str:
    return (
        f"\t\x1b[4mGPU0\tGPU1\tNIC0\tNIC1\tCPU Affinity\x1b[0m\nGPU0\t X \tNV18\t{word}\tNODE\t0-63\n"
        "GPU1\tNV18\t X \tNODE\tPIX\t0-63\nNIC0\tPXB\tNODE\t X \tNODE\n\nLegend:\n  PIX  = one bridge\n"
    )


_RELEASE = "6.8.0-45-generic\n"
_BUILTIN = {"/lib/modules/6.8.0-45-generic/modules.builtin": "kernel/fs/overlayfs/overlay.ko\n"}
_DEVICE = "/sys/class/net/ens1/device"


def _interrupts(cpus: str) -> tuple[str, dict[str, str], dict[str, str]]:
    return (
        "0-63,128-191\n", {f"{_DEVICE}/msi_irqs/{n}": "msix\n" for n in (101, 102)},
        {"/proc/irq/101/smp_affinity_list": "3\n", "/proc/irq/102/smp_affinity_list": cpus,
         "/proc/irq/9/smp_affinity_list": "0-255\n"},
    )  # fmt: skip


BY_ID: dict[str, Sample] = {
    "kernel_settings.modules": (
        ("br_netfilter 36864 0 - Live 0x0\n", _RELEASE, _BUILTIN), ("bridge 36864 0 - Live 0x0\n", _RELEASE, _BUILTIN)),
    "kernel_settings.boot_words": one(
        "ro numa_balancing=disable iommu.passthrough=1 irqchip.gicv3_nolpi=y arm_smmu_v3.disable_msipolling=1 "
        "init_on_alloc=0 nvme_core.io_timeout=240\n", "ro numa_balancing=disable numa_balancing=enable\n"),
    "kernel_settings.page_size": one("65536\n", "4096\n"),
    "kernel_settings.swap": one("Filename Type Size Used Priority\n", "Filename Type\n/dev/sda2 partition 1 0 -2\n"),
    "kernel_settings.nproc": (("# none\n", None),
        ("# none\n", {"/etc/security/limits.d/20.conf": "* soft nproc 4096\n"})),
    "kernel_settings.port_range": one("32768\t60999\n", "1024\t65535\n"),
    **{f"kernel_settings.{item}": (
        (f"* - {item} {few}\n", {"/etc/security/limits.d/90.conf": f"*  -  {item}  {good}  # ours\n"}),
        (f"* - {item} {good}\n", {"/etc/security/limits.d/99.conf": f"* soft {item} {few}\n"}),
    ) for item, good, few in (
        ("memlock", "unlimited", 8192), ("nofile", 1_048_576, 1024), ("stack", 8192, "unlimited"))},
    "kernel_settings.remove_ipc": one("#RemoveIPC=yes\nRemoveIPC=yes\n# logind.conf.d/x.conf\nRemoveIPC=no\n",
                                      "# /etc/systemd/logind.conf\n#RemoveIPC=no\n"),
    "kernel_settings.shared_memory": (
        ("tmpfs /dev/shm tmpfs rw,nosuid 0 0\n", "MemTotal:       2113528320 kB\n"),
        ("tmpfs /dev/shm tmpfs rw,size=65536k 0 0\n", "MemTotal:       2113528320 kB\n")),
    "cpu.governor": one("performance\n", "powersave\n"),
    "cpu.idle_latency": (_idle("0", "0", "1"), _idle("0", "0", "0")),
    "cpu.tuned": one(NOT_FOUND, ACTIVE),
    "cpu.all_online": (("0-255\n", "0-255\n"), ("0-254\n", "0-255\n")),
    "cpu.numa_nodes": one("0-1\n", "0-7\n"),
    "cpu.x2apic": one("flags : fpu vme x2apic movbe\n", "flags : fpu vme movbe\n"),
    "cpu.numa_policy": one("NUMAPolicy=bind\nNUMAMask=0-1\n", "#NUMAPolicy=default\n"),
    "cpu.isolated": one("\n", "8-31\n"),
    "cpu.transparent_hugepages": one("always [madvise] never\n", "[always] madvise never\n"),
    "cpu.hugepages_2m": one("0\n", "-1\n"),
    "cpu.hugepages_1g": one("0\n", "-1\n"),
    "cpu.irqbalance": one(INACTIVE, ACTIVE),
    "cpu.irq_affinity": (_interrupts("129\n"), _interrupts("64-127\n")),
    "pcie.acs": one(lspci(), lspci(acs="+")),
    "pcie.iommu": one("ro iommu=on iommu=pt quiet\n", "ro iommu=pt iommu=on quiet\n"),
    "pcie.iommu_domains": one("identity\n",
        {f"/sys/kernel/iommu_groups/{n}/type": word for n, word in enumerate(("identity", "DMA-FQ"))}),
    "pcie.max_read_request": one(lspci(), lspci(size=512)),
    "pcie.relaxed_ordering": one(lspci(), lspci(ordering="-")),
    "pcie.nic_links": one(lspci(), lspci(width="x8 (downgraded)")),
    "pcie.link_messages": one("[1.0] mlx5_core 0000:18:00.0: firmware version\n",
                              "[1.0] pci 0000:18:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s\n"),
    "pcie.errors": one("Undefined 0\nDLP 0\nTOTAL_ERR_FATAL 0\n", "Undefined 0\nDLP 1\nTOTAL_ERR_FATAL 1\n"),
    "pcie.power_saving": one("default [performance] powersave powersupersave\n", "[default] performance powersave\n"),
    "pcie.aspm": one(lspci(), lspci(aspm="L0s L1 Enabled")),
    "pcie.gpus": one(gpus(8), gpus(7)),
    "pcie.gpu_nic_paths": one(_topology("PXB"), _topology("SYS")),
}  # fmt: skip
"""Setting → what a host says; sysctls follow from their values."""
