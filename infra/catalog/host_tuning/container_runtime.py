"""Container runtime: containerd, NVIDIA's toolkit, CDI, and limits that containers inherit."""

from __future__ import annotations

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import CLUSTER, GPUS
from infra.catalog.host_tuning.parsers import host, text, units
from infra.catalog.host_tuning.setting import Scope, Setting, Variable, command, files

WHAT = "containerd with limits that RDMA needs, cgroups of systemd and GPUs by CDI."
"""What the role does."""

VARIABLES = (
    Variable("container_runtime_package", "Package that brings containerd.", "containerd",
             "Debian, Ubuntu; Docker's packages name it containerd.io", choices=("containerd", "containerd.io")),
    Variable("container_runtime_version", "Its version; empty takes what the host has, else what its sources offer.",
    "",
             "pin it where sources change"),
    Variable("container_runtime_root", "Folder of images and snapshots.", "/var/lib/containerd",
             "containerd config default"),
    Variable("container_runtime_sandbox_image",
             "Image of a pod's sandbox, by digest; empty leaves containerd's own.", "", "containerd config default"),
    Variable("container_runtime_toolkit",
             "Whether this host owns NVIDIA's container toolkit; the GPU Operator does otherwise.", "absent",
             "gpu-operator values toolkit.enabled", choices=("present", "absent")),
    Variable("container_runtime_toolkit_version",
             "Its version; empty takes what the host has, else what its sources offer.", "",
             "pin it where sources change"),
    Variable("container_runtime_drained",
             "Whether the play has drained the host; systemd is not reloaded under GPU containers otherwise.", False,
             "the drain play says so"),
)  # fmt: skip

_UNIT = command("systemctl", "show", "containerd",
                "--property=LoadState,ActiveState,LimitMEMLOCK,LimitNOFILE,NeedDaemonReload")  # fmt: skip
_SPECS = (files("/etc/cdi/nvidia*.yaml", optional=True), files("/var/run/cdi/nvidia*.yaml", optional=True))
_GPU_CLUSTER = Scope(boards=GPUS.boards, kubernetes=True)

SETTINGS = (
    Setting(
        id="container_runtime.service", what="containerd runs", value="active", severity="page", readings=(_UNIT,),
        why="no pod starts", parse=units.service, scope=CLUSTER, fix="see journalctl -u containerd",
        source="Kubernetes, container runtimes",
    ),
    Setting(
        id="container_runtime.memlock", variable="container_runtime_memlock",
        what="Memory that containers may pin (LimitMEMLOCK)", why="containers inherit 8 MiB: ibv_reg_mr fails",
        value="infinity", readings=(_UNIT,), parse=units.prop, argument="LimitMEMLOCK", scope=CLUSTER, severity="page",
        source="nvidia-container-toolkit#2037; NCCL user guide; nccl-tests#206",
    ),
    Setting(
        id="container_runtime.nofile", variable="container_runtime_nofile", compare="at_least", unit="files",
        what="Files that each container's process may open (LimitNOFILE)", value=1_048_576, readings=(_UNIT,),
        why="ranks end with too many open files", parse=units.prop, argument="LimitNOFILE", scope=CLUSTER,
        source="NCCL user guide, runtime and MPI issues: 144 ranks open more than 32,000",
    ),
    Setting(
        id="container_runtime.reload", what="Whether systemd has files of containerd that it has not read", value="no",
        why="the next reload, by anybody, takes GPUs from running containers", readings=(_UNIT,), parse=units.prop,
        argument="NeedDaemonReload", scope=CLUSTER, severity="note", fix="drain the host, then systemctl daemon-reload",
        source="nvidia-container-toolkit#48, #1227, #251; gpu-operator#485",
    ),
    Setting(
        id="container_runtime.cgroup_driver", variable="container_runtime_cgroup_driver", value="systemd",
        what="Who makes cgroups; kubelet must say the same", choices=("systemd", "cgroupfs"), scope=CLUSTER,
        why="pods are ended under pressure on memory that they do not use", readings=(readings.CONTAINERD,),
        parse=host.cgroup_driver, source="Kubernetes, container runtimes",
    ),
    Setting(
        id="container_runtime.cdi", variable="container_runtime_cdi", choices=("enabled", "disabled"), value="enabled",
        what="Whether devices are given to containers by CDI", scope=_GPU_CLUSTER,
        why="systemctl daemon-reload takes GPUs from containers that got them otherwise",
        readings=(readings.CONTAINERD,), parse=host.cdi,
        source="gpu-operator values cdi.enabled; nvidia-container-toolkit#48",
    ),
    Setting(
        id="container_runtime.cdi_driver", what="Driver that the host's CDI specification was made for", value="",
        compare="agree", why="containers get libraries of a driver that is gone", parse=host.cdi_driver,
        readings=(*_SPECS, readings.NVIDIA_VERSION), scope=_GPU_CLUSTER,
        fix="nvidia-ctk cdi generate, on a drained host",
        source="nvidia-container-toolkit docs, CDI: generated again after each change of the driver",
    ),
    Setting(
        id="container_runtime.device_links", what="Links to GPUs below /dev/char", value=1, compare="at_least",
        why="systemd finds no name for a device and takes it from running containers", parse=text.count,
        readings=(command("find", "/dev/char", "-lname", "*nvidia*"),), argument="^/dev/char/", scope=_GPU_CLUSTER,
        unit="links", fix="nvidia-ctk system create-dev-char-symlinks --create-all",
        source="nvidia-container-toolkit#48; gpu-operator#485",
    ),
)  # fmt: skip
"""The limits first: all containers inherit them."""
