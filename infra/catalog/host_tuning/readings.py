"""Questions that several settings share, each asked once."""

from __future__ import annotations

from infra.catalog.host_tuning.parsers import nvidia
from infra.catalog.host_tuning.parsers.boot import SYSCTL_FOLDERS
from infra.catalog.host_tuning.setting import command, files

COMMAND_LINE = files("/proc/cmdline")
MODULES = (
    files("/proc/modules"), files("/proc/sys/kernel/osrelease"), files("/lib/modules/*/modules.builtin", optional=True),
)  # fmt: skip
LIMITS = (files("/etc/security/limits.conf"), files("/etc/security/limits.d/*.conf", optional=True))
SYSCTL_FILES = tuple(files(f"{folder}/*.conf", optional=True) for folder in SYSCTL_FOLDERS)
MOUNTS = files("/proc/mounts")
PACKAGES = command("dpkg-query", "--show", "--showformat=${Package} ${Version} ${db:Status-Abbrev}\n")
_PINNED = (
    "nvidia* libnvidia* nvsdm* libnvsdm* nvlsm* cuda-drivers* "
    "rdma-core* libibverbs* librdmacm* mlnx* ofed* doca* kernel-mft*"
)
CANDIDATES = command(
    "sh", "-c",
    f"set -f; dpkg-query --show --showformat='${{db:Status-Abbrev}}${{binary:Package}}\\n' {_PINNED} 2>/dev/null | "
    "sed -n 's/^[^h]i.//p' | xargs -r apt-cache policy",
)  # fmt: skip
"""Which versions an upgrade would choose, all pins in force, of packages of the drivers that are not held.

A simulated upgrade of everything says the same, and takes seconds of a host's CPU to plan what nobody asked about.
"""

LSPCI = command("lspci", "-D", "-nn", "-vvv")
KERNEL_LOG = command("dmesg")

NVIDIA_VERSION = files("/sys/module/nvidia/version")
NVIDIA_OPTIONS = files("/proc/driver/nvidia/params")
GPUS = command("nvidia-smi", f"--query-gpu={','.join(nvidia.COLUMNS)}", "--format=csv,noheader,nounits")
REMAPS = command("nvidia-smi", f"--query-remapped-rows={','.join(nvidia.REMAPS)}", "--format=csv,noheader,nounits")
NVLINKS = command("nvidia-smi", "nvlink", "--status")
EVERYTHING = command("nvidia-smi", "-q")

RDMA_LINKS = command("rdma", "-j", "link", "show")
RDMA_PORTS = command("ibv_devinfo", "-v")
RAIL_DEVICE = files("/sys/class/net/{interface}/device/infiniband/*/node_guid", optional=True)
PORT = (RDMA_LINKS, RDMA_PORTS, RAIL_DEVICE)
"""RDMA port of a rail."""
FIRMWARE = command("mlxconfig", "-d", "{pci}", "-e", "query")
QOS = command("mlnx_qos", "-i", "{interface}")

CONTAINERD = command("containerd", "config", "dump")
KUBELET = files("/var/lib/kubelet/config.yaml")
SSHD = command("sshd", "-T")
TRACKING = command("chronyc", "-c", "tracking")
