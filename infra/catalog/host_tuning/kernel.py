"""Kernel settings: memory, network and limits, live and at boot."""

from __future__ import annotations

from infra.catalog.host_tuning import parsers
from infra.catalog.host_tuning.setting import Case, Compare, Means, Reading, Scope, Setting, Value

ROLE = "kernel_settings"
"""Role that applies them."""


EVERYWHERE = Scope()
"""Every host."""


def sysctl(  # noqa: PLR0913  a row of a table: each column has its name
    key: str,
    value: Value,
    what: str,
    why: str,
    source: str,
    *,
    compare: Compare = "equals",
    unit: str = "",
    scope: Scope = EVERYWHERE,
    cases: tuple[Case, ...] = (),
    name: str = "",
) -> Setting:
    """One sysctl, read where the kernel shows it."""
    short = name or key.rpartition(".")[2]
    return Setting(
        id=f"{ROLE}.{short}",
        role=ROLE,
        variable=f"{ROLE}_{short}",
        what=what,
        why=why,
        value=value,
        compare=compare,
        readings=(Reading(Means.FILES, (f"/proc/sys/{key.replace('.', '/')}",)),),
        parse=parsers.words,
        source=source,
        unit=unit,
        scope=scope,
        cases=cases,
        key=key,
    )


_CLUSTER = Scope(kubernetes=True)
_ROCE = Scope(fabrics=("roce",))

SETTINGS = (
    sysctl("kernel.numa_balancing", 0, "Automatic moves of memory between NUMA nodes",
           "moving pages stalls memory that GPUs have pinned", "TuneD hpc-compute, network-latency; mlnx_tune"),
    sysctl("vm.zone_reclaim_mode", 0, "Reclaim on the own node before memory of another is taken",
           "it throws the page cache away that models are loaded from; 1 suits MPI jobs",
           "TuneD hpc-compute sets 1 for MPI; 0 is the kernel's default"),
    sysctl("vm.swappiness", 10, "Will to swap", "an engine's host memory on disk stalls every request", "TuneD",
           compare="at_most"),
    sysctl("vm.min_free_kbytes", 135_168, "Memory kept free for atomic allocations",
           "a NIC that receives without memory drops packets", "TuneD hpc-compute", compare="at_least", unit="KiB"),
    sysctl("vm.max_map_count", 65_530, "Memory areas of one process",
           "weights mapped into memory take one area per tensor", "Linux default",
           compare="at_least", unit="areas"),
    sysctl("vm.overcommit_memory", 1, "Whether allocations are granted beyond memory",
           "kubelet expects it and sets it itself otherwise", "kubelet, --protect-kernel-defaults", scope=_CLUSTER),
    sysctl("kernel.panic", 10, "Time from a panic to the reboot", "a host that panics stays away until somebody comes",
           "kubelet, --protect-kernel-defaults", scope=_CLUSTER, unit="s"),
    sysctl("kernel.panic_on_oops", 1, "Whether an oops is a panic", "a kernel that goes on after an oops corrupts data",
           "kubelet, --protect-kernel-defaults", scope=_CLUSTER),
    sysctl("net.core.somaxconn", 4_096, "Connections that wait to be accepted", "bursts of requests are refused",
           "Linux 5.4 raised its default to 4096", compare="at_least", unit="connections"),
    sysctl("net.ipv4.ip_forward", 1, "Forwarding between interfaces", "pods reach nobody; hardening turns it off",
           "Kubernetes, container runtimes", scope=_CLUSTER, name="ip_forward"),
    sysctl("fs.file-max", 2_097_152, "Open files of the whole host", "144 ranks of 16 contexts open 32,000 each",
           "NCCL user guide, runtime and MPI issues", compare="at_least", unit="files", name="file_max"),
    sysctl("fs.inotify.max_user_instances", 8_192, "Watchers of one user",
           "the device plugin ends with too many open files", "NVIDIA/gpu-operator#441", compare="at_least",
           unit="watchers"),
    sysctl("fs.inotify.max_user_watches", 524_288, "Watched files of one user",
           "kubelet and log readers end with too many open files", "Kubernetes, kind known issues",
           compare="at_least", unit="files"),
    sysctl("net.ipv4.neigh.default.gc_thresh1", 4_096, "Neighbours that are always kept",
           "large flat networks overflow the table", "azhpc-images hpc-tuning.sh", compare="at_least", scope=_ROCE,
           unit="neighbours"),
    sysctl("net.ipv4.neigh.default.gc_thresh2", 8_192, "Neighbours from which on old ones go soon",
           "entries of hosts in use are thrown out within seconds", "azhpc-images hpc-tuning.sh",
           compare="at_least", scope=_ROCE, unit="neighbours"),
    sysctl("net.ipv4.neigh.default.gc_thresh3", 16_384, "Neighbours at most",
           "hosts beyond it cannot be reached at all", "azhpc-images hpc-tuning.sh",
           compare="at_least", scope=_ROCE, unit="neighbours"),
    sysctl("net.ipv4.conf.all.rp_filter", ("0", "2"), "Whether replies must come back the same way",
           "strict checking drops what comes in over another rail; the larger of all and the interface counts",
           "oci-hpc roles/rdma-interface; kernel ip-sysctl.rst", scope=_ROCE, compare="one_of"),
    sysctl("kernel.yama.ptrace_scope", 1, "Who may look into whose process", "2 and more keep debuggers from engines",
           "Yama.rst; dev-sec os_hardening sets 2", compare="at_most"),
)  # fmt: skip
"""By what hurts first: memory, then network."""
