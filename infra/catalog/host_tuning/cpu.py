"""CPU and NUMA: clocks, sleep, interrupts, huge pages."""

from __future__ import annotations

from infra.catalog.host_tuning.kinds import ARM, GPUS_METAL, METAL, RDMA_METAL
from infra.catalog.host_tuning.parsers import host, rails, text, units
from infra.catalog.host_tuning.setting import Scope, Setting, command, files

WHAT = "CPUs and memory of a GPU host - clocks, sleep, huge pages, interrupts - live and at boot."
"""What the role does."""

VARIABLES = ()

SETTINGS = (
    Setting(
        id="cpu.governor", variable="cpu_governor",
        choices=("performance", "powersave", "schedutil", "ondemand", "conservative"),
        what="Governor of every CPU's clock",
        why="kernels are launched late while a clock speeds up", value="performance",
        readings=(files("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"),),
        parse=text.words, source="oci-hpc check_gpu_setup.py; TuneD accelerator-performance", scope=METAL,
    ),
    Setting(
        id="cpu.idle_latency", variable="cpu_idle_latency", compare="at_most", unit="µs",
        what="Longest wake-up of the sleep states that a CPU may use", value=99, parse=host.idle_latency,
        why="deeper sleep adds its wake-up to every kernel launch and interrupt",
        readings=(files("/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/latency"),
                  files("/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/disable")),
        source="TuneD accelerator-performance: force_latency=99", scope=METAL,
    ),
    Setting(
        id="cpu.tuned", value="inactive", fix="systemctl disable --now tuned",
        what="TuneD, a second owner of these settings", also=("not-found", "masked"),
        why="it writes governor, sleep states, huge pages and sysctls of its own whenever it starts",
        readings=(command("systemctl", "show", "tuned", "--property=LoadState,ActiveState"),),
        parse=units.service, source="TuneD profiles/*/tuned.conf",
    ),
    Setting(
        id="cpu.all_online", what="CPUs that are online are all that could be", value="", compare="agree",
        why="a core that was taken out changes which CPUs are near which GPU",
        readings=(files("/sys/devices/system/cpu/online"), files("/sys/devices/system/cpu/possible")),
        parse=text.words, source="NVIDIA health validation: online equals possible", scope=METAL,
        fix="bring the core online, or see which one the firmware has taken out",
    ),
    Setting(
        id="cpu.numa_nodes", what="NUMA nodes: one of each socket", value="0-1",
        why="more nodes on a socket (NPS, SNC) split the CPUs and memory near a GPU", severity="note",
        readings=(files("/sys/devices/system/node/online"),), parse=text.words, scope=GPUS_METAL,
        fix="set NPS=1 (AMD), or SNC off (Intel), in the firmware's setup",
        source="community lists of firmware settings: NPS=1; no vendor's guide for HGX B300 was seen",
    ),
    Setting(
        id="cpu.x2apic", what="x2APIC", why="interrupts of more than 255 CPUs cannot be told apart", value=1,
        compare="at_least", readings=(command("grep", "-m1", "^flags", "/proc/cpuinfo"),), parse=text.count,
        argument=r"\bx2apic\b", severity="note", scope=Scope(machine="metal", cpu="x86"),
        fix="turn x2APIC on in the firmware's setup", source="community lists of firmware settings",
    ),
    Setting(
        id="cpu.numa_policy", what="NUMA nodes that services take memory from", value="bind",
        why="memory of GPUs is a NUMA node on Grace, and services would land there",
        readings=(command("systemd-analyze", "cat-config", "systemd/system.conf"),), parse=text.last,
        argument=r"^NUMAPolicy=(?P<value>\w+)", scope=ARM, fix="set NUMAPolicy=bind and NUMAMask=0-1 in system.conf",
        source="azhpc-images setup_sku_customizations.sh",
    ),
    Setting(
        id="cpu.isolated", variable="cpu_isolated", what="CPUs that the scheduler leaves alone (isolcpus)",
        why="kubelet hands out CPUs itself, and isolated ones would run all of a pod on one", value="",
        readings=(files("/sys/devices/system/cpu/isolated"),), parse=text.words, reboot=True,
        source="Kubernetes, CPU manager; kernel-parameters.txt: isolcpus",
    ),
    Setting(
        id="cpu.transparent_hugepages", variable="cpu_transparent_hugepages", choices=("always", "madvise", "never"),
        what="Who gets huge pages unasked", why="always stalls on compaction, never slows copies of weights",
        value="madvise", readings=(files("/sys/kernel/mm/transparent_hugepage/enabled"),), parse=text.bracketed,
        source="TuneD profiles disagree (hpc-compute always, network-latency never)",
    ),
    *(Setting(
        id=f"cpu.hugepages_{name}", variable=f"cpu_hugepages_{name}", what=f"Huge pages of {size} set aside{when}",
        why="programs that ask for them do not start", value=0, compare="at_least", unit="pages", reboot=bool(when),
        readings=(files(f"/sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages", optional=True),), parse=text.number,
        source=source,
    ) for name, size, kib, when, source in (
        ("2m", "2 MiB", 2_048, "", "mlnx-tools doca-hugepages: vLLM and NCCL need none, DPDK does"),
        ("1g", "1 GiB", 1_048_576, " at boot", "kernel hugetlbpage.rst: only at boot is memory whole enough"))),
    Setting(
        id="cpu.irqbalance", variable="cpu_irqbalance", choices=("inactive", "active"), value="inactive",
        what="irqbalance moves interrupts", why="a NIC's interrupts leave its NUMA node: 10 to 20 % of bandwidth",
        readings=(command("systemctl", "show", "irqbalance", "--property=LoadState,ActiveState"),),
        parse=units.service, also=("not-found", "masked"), scope=METAL,
        source="mlnx-tools set_irq_affinity_bynode.sh; chef-bcpc#2115; irqbalance#169, #175, #275",
    ),
    Setting(
        id="cpu.irq_affinity", variable="cpu_irq_affinity", choices=("local", "any"), value="local", also=("local",),
        what="CPUs that a rail's interrupts go to", why="interrupts on the other socket cost 10 to 20 % of bandwidth",
        readings=(files("/sys/class/net/{interface}/device/local_cpulist"),
                  files("/sys/class/net/{interface}/device/msi_irqs/*"), files("/proc/irq/*/smp_affinity_list")),
        parse=rails.interrupts, per_rail=True, scope=RDMA_METAL, source="mlnx-tools set_irq_affinity_bynode.sh",
    ),
)  # fmt: skip
"""Of the machine itself; a guest sees few of them."""
