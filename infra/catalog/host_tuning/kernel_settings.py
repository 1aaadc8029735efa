"""Kernel settings: sysctls, modules, command line, and limits of processes; live and at boot."""

from __future__ import annotations

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import ARM, CLUSTER, METAL, ROCE
from infra.catalog.host_tuning.parsers import boot, host, text
from infra.catalog.host_tuning.setting import Case, Setting, Variable, command, files
from infra.catalog.host_tuning.sysctls import sysctl

WHAT = "Kernel settings of a GPU host - sysctls, modules, limits, command line - live and at boot."
"""What the role does."""

VARIABLES = (
    Variable("kernel_settings_boot_words",
             "Further words of the kernel command line, word to value (empty: the word alone); what a variable of a "
             "role sets is refused.", {}, "kernel-parameters.txt"),
    Variable("kernel_settings_drained",
             "Whether the play has drained the host; swap in use is not taken away otherwise.", False,
             "the drain play says so"),
    Variable("kernel_settings_fabric", "Fabric of the pool; some sysctls are for RoCE only.", "none",
             "inventory: fabric of the pool", choices=("roce", "infiniband", "efa", "none")),
    Variable("kernel_settings_kubernetes", "Whether the host is in a cluster, or about to join one.", True,
             "inventory: hosts of a stack are"),
)  # fmt: skip

_NAME = "kernel_settings"
_MPI = "TuneD hpc-compute"
_BUFFERS = "set it in a file of /etc/sysctl.d, where models come over one connection"
_KUBELET = "kubelet, --protect-kernel-defaults"

SYSCTLS = (
    sysctl(_NAME, "kernel.numa_balancing", 0, "Automatic moves of memory between NUMA nodes",
           "moving pages stalls memory that GPUs have pinned", "TuneD hpc-compute, network-latency; mlnx_tune",
           choices=(0, 1)),
    sysctl(_NAME, "vm.zone_reclaim_mode", 0, "Reclaim on the own node before memory of another is taken",
           "it throws the page cache away that models are loaded from; 1 suits MPI jobs",
           "TuneD hpc-compute sets 1 for MPI; 0 is the kernel's default"),
    sysctl(_NAME, "vm.swappiness", 10, "Will to swap", "an engine's host memory on disk stalls every request", "TuneD",
           compare="at_most"),
    sysctl(_NAME, "vm.min_free_kbytes", 135_168, "Memory kept free for atomic allocations",
           "a NIC that receives without memory drops packets", _MPI, compare="at_least", unit="KiB"),
    sysctl(_NAME, "vm.max_map_count", 65_530, "Memory areas of one process",
           "weights mapped into memory take one area per tensor", "Linux default",
           compare="at_least", unit="areas"),
    sysctl(_NAME, "vm.overcommit_memory", 1, "Whether allocations are granted beyond memory",
           "kubelet expects it and sets it itself otherwise", _KUBELET, scope=CLUSTER, choices=(0, 1, 2)),
    sysctl(_NAME, "kernel.panic", 10, "Time from a panic to the reboot",
           "a host that panics stays away until somebody comes", _KUBELET, scope=CLUSTER, unit="s"),
    sysctl(_NAME, "kernel.panic_on_oops", 1, "Whether an oops is a panic",
           "a kernel that goes on after an oops corrupts data", _KUBELET, scope=CLUSTER, choices=(0, 1)),
    sysctl(_NAME, "net.core.somaxconn", 4_096, "Connections that wait to be accepted", "bursts of requests are refused",
           "Linux 5.4 raised its default to 4096", compare="at_least", unit="connections"),
    sysctl(_NAME, "net.ipv4.ip_forward", 1, "Forwarding between interfaces",
           "pods reach nobody; hardening turns it off", "Kubernetes, container runtimes", scope=CLUSTER,
           choices=(0, 1)),
    sysctl(_NAME, "net.bridge.bridge-nf-call-iptables", 1, "Whether packets between pods of a host pass its rules",
           "services do not answer pods of their own host", "Kubernetes, network plugin requirements", scope=CLUSTER,
           name="bridge_nf_call_iptables", choices=(0, 1)),
    sysctl(_NAME, "fs.file-max", 2_097_152, "Open files of the whole host",
           "144 ranks of 16 contexts open 32,000 each", "NCCL user guide, runtime and MPI issues",
           compare="at_least", unit="files", name="file_max"),
    sysctl(_NAME, "fs.inotify.max_user_instances", 8_192, "Watchers of one user",
           "the device plugin ends with too many open files", "NVIDIA/gpu-operator#441", compare="at_least",
           unit="watchers"),
    sysctl(_NAME, "fs.inotify.max_user_watches", 524_288, "Watched files of one user",
           "kubelet and log readers end with too many open files", "Kubernetes, kind known issues",
           compare="at_least", unit="files"),
    *(sysctl(_NAME, f"net.ipv4.neigh.default.gc_thresh{n}", count, what, why, "azhpc-images hpc-tuning.sh",
             compare="at_least", scope=ROCE, unit="neighbours") for n, count, what, why in (
        (1, 4_096, "Neighbours that are always kept", "large flat networks overflow the table"),
        (2, 8_192, "Neighbours from which on old ones go soon", "entries of hosts in use are thrown out in seconds"),
        (3, 16_384, "Neighbours at most", "hosts beyond it cannot be reached at all"),
    )),
    sysctl(_NAME, "net.ipv4.conf.all.rp_filter", 2, "Whether replies must come back the same way",
           "strict checking drops what comes in over another rail; the larger of all and the interface counts",
           "oci-hpc roles/rdma-interface; kernel ip-sysctl.rst", scope=ROCE, also=("0",), choices=(0, 2)),
    sysctl(_NAME, "kernel.yama.ptrace_scope", 1, "Who may look into whose process",
           "2 and more keep py-spy and cuda-gdb from engines", "Yama.rst; dev-sec os_hardening sets 2",
           compare="at_most"),
    *(sysctl(_NAME, f"net.core.{key}", 2_147_483_647, f"Largest {what} buffer that a socket may ask for",
             "one connection does not fill a link of 100 Gbit/s", "azhpc-images hpc-tuning.sh, rack-scale images",
             compare="at_least", unit="bytes", scope=ARM, severity="note", fix=_BUFFERS) for key, what in (
        ("rmem_max", "receive"), ("wmem_max", "send"))),
    *(sysctl(_NAME, f"net.ipv4.{key}", "4096 67108864 1073741824", f"Least, first and largest {what} buffer of TCP",
             "one connection does not fill a link of 100 Gbit/s", "azhpc-images hpc-tuning.sh, rack-scale images",
             unit="bytes", scope=ARM, severity="note", fix=_BUFFERS) for key, what in (
        ("tcp_rmem", "receive"), ("tcp_wmem", "send"))),
)  # fmt: skip
"""By what hurts first: memory, then network."""

_LIMITS = "azhpc-images hpc-tuning.sh; NCCL user guide, networking and runtime"

REST = (
    Setting(
        id="kernel_settings.modules", variable="kernel_settings_modules",
        what="Kernel modules that are there from boot",
        why="containers have no file system or no filtered bridge", value=("overlay", "br_netfilter"), compare="has",
        readings=readings.MODULES, parse=boot.modules, scope=CLUSTER, source="Kubernetes, container runtimes",
    ),
    Setting(
        id="kernel_settings.boot_words", what="Words of the kernel command line, beyond those of other settings",
        compare="has", fix="set them in kernel_settings_boot_words, play role kernel_settings, then reboot",
        why="Grace hosts lose bandwidth, or disks at heavy load", value=(),
        cases=(Case(ARM, ("numa_balancing=disable", "iommu.passthrough=1", "irqchip.gicv3_nolpi=y",
                          "arm_smmu_v3.disable_msipolling=1", "init_on_alloc=0", "nvme_core.io_timeout=240")),),
        readings=(readings.COMMAND_LINE,), parse=boot.boot_words, reboot=True,
        source="azhpc-images setup_sku_customizations.sh, hpc-tuning.sh; deepops nvidia-dgx vars",
    ),
    Setting(
        id="kernel_settings.page_size", what="Size of a page of memory", why="Grace hosts are tuned with 64 KiB pages",
        value=65_536, readings=(command("getconf", "PAGESIZE"),), parse=text.words, unit="bytes", scope=ARM,
        fix="install the kernel with 64 KiB pages and reboot", source="azhpc-images; deepops nvidia-dgx vars",
    ),
    Setting(
        id="kernel_settings.nproc", what="Processes of a user, where a file limits them", value=40_960,
        compare="at_least", unit="processes", why="engines end when they start threads", parse=text.pattern,
        readings=(files("/etc/security/limits.conf", optional=True),
        files("/etc/security/limits.d/*.conf", optional=True)),
        argument=r"^\*\s+\S+\s+nproc\s+(?P<value>\d+)", fix="take the line out of the file that says it",
        source="oci-hpc limits.j2",
    ),
    Setting(
        id="kernel_settings.port_range", what="Ports that connections leave from", value=32_768, compare="at_least",
        why="a range that reaches into node ports (30000 to 32767) takes them from services", scope=CLUSTER,
        readings=(files("/proc/sys/net/ipv4/ip_local_port_range"),), parse=text.pattern, argument=r"^(?P<value>\d+)",
        fix="let net.ipv4.ip_local_port_range begin at 32768 or above",
        source="NCCL user guide, networking: narrow it only to pin NCCL's ports",
    ),
    Setting(
        id="kernel_settings.swap", variable="kernel_settings_swap", what="Swap", choices=("absent", "kept"),
        also=("absent",),
        why="an engine's host memory on disk stalls every request", value="absent",
        readings=(files("/proc/swaps"),), parse=host.swap, scope=CLUSTER,
        source="imbue-ai/cluster-health fix_swap.sh; Kubernetes, swap memory",
    ),
    *(Setting(
        id=f"kernel_settings.{name}", variable=f"kernel_settings_{name}", what=what, why=why, value=value,
        compare="at_least" if value != 8_192 else "equals", unit=unit, readings=readings.LIMITS, parse=boot.limits,
        argument=name if name != "stack" else "stack soft", source=_LIMITS,
    ) for name, value, unit, what, why in (
        ("memlock", "unlimited", "KiB", "Memory that a process may pin",
            "memory cannot be registered: ibv_reg_mr fails"),
        ("nofile", 1_048_576, "files", "Files that a process may open", "144 ranks open more than 32,000 each"),
        ("stack", 8_192, "KiB", "Stack of a process",
         "without a limit glibc gives threads 2 MiB, and NCCL before 2.28 crashes"),
    )),
    Setting(
        id="kernel_settings.remove_ipc", variable="kernel_settings_remove_ipc", choices=("yes", "no"), reboot=True,
        what="Whether shared memory of a user goes at logout (RemoveIPC)", value="no",
        why="engines of a user who logs out lose their shared memory",
        readings=(command("systemd-analyze", "cat-config", "systemd/logind.conf"),), parse=text.last,
        argument=r"^RemoveIPC=(?P<value>\w+)", source="NCCL user guide, runtime and MPI issues",
    ),
    Setting(
        id="kernel_settings.shared_memory", what="Shared memory of the host", value=33_554_432, compare="at_least",
        why="ranks outside pods share memory there; pods have a volume of their own", unit="KiB", severity="note",
        readings=(readings.MOUNTS, files("/proc/meminfo")), parse=host.shared_memory, scope=METAL,
        fix="take size= off /dev/shm in /etc/fstab", source="NCCL user guide, runtime and MPI issues: 32 GiB",
    ),
)  # fmt: skip

SETTINGS = (*SYSCTLS, *REST)
"""Sysctls first: they are live at once."""
