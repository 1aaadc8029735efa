"""Storage: local disks as one fast file system for models."""

from __future__ import annotations

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import GPUS_CLUSTER, GPUS_METAL, METAL
from infra.catalog.host_tuning.parsers import host, text, units
from infra.catalog.host_tuning.setting import Scope, Setting, Variable, command, files

WHAT = "Local NVMe drives of a GPU host as one fast place for models."
"""What the role does."""

VARIABLES = (
    Variable("storage_devices",
             "Drives of the place for models, by stable path such as /dev/disk/by-id/nvme-…; empty leaves all drives "
             "alone.", [], "inventory", elements="str"),
    Variable("storage_path", "Where it is mounted.", "/var/lib/railwright/models",
             "stacks: weights_path of models lies under it"),
    Variable("storage_chunk", "Chunk of the RAID 0.", 512, "mdadm(8), default", unit="KiB"),
    Variable("storage_nfs", "Whether models come from an NFS server.", "absent", "stacks",
    choices=("present", "absent")),
)  # fmt: skip

_OWN = "OCI, azhpc-images: NVMe in RAID 0 with XFS"
_HERE = Scope(boards=GPUS_METAL.boards, machine="metal")
_SMART = tuple(command("nvme", "smart-log", f"/dev/nvme{number}") for number in range(8))

SETTINGS = (
    Setting(
        id="storage.filesystem", value="xfs", fix="set storage_devices and play role storage", scope=_HERE,
        what="File system of the folder of models", why="models are loaded from the disk of the system, or not kept",
        readings=(readings.MOUNTS,), parse=host.mount, argument="{storage_path}", source=_OWN,
    ),
    Setting(
        id="storage.options", variable="storage_options", what="Options that it is mounted with",
        value=("noatime", "nodiratime"),
        compare="has", why="each read of a model is a write", readings=(readings.MOUNTS,), parse=host.mount_options,
        argument="{storage_path}", scope=_HERE, source=_OWN,
    ),
    Setting(
        id="storage.level", what="Level of the array", value="raid0", also=("one drive",), parse=host.array_level,
        why="one disk alone loads a model eight times as long", readings=(readings.MOUNTS, files("/proc/mdstat")),
        argument="{storage_path}", scope=_HERE, fix="play role storage on empty drives", source=_OWN,
    ),
    Setting(
        id="storage.degraded", what="Disks that arrays lack", value=0, unit="disks", severity="page",
        why="the array is slow, or gone at the next error", parse=text.pattern, argument=r"^(?P<value>\d+)",
        readings=(files("/sys/block/md*/md/degraded", optional=True),), scope=_HERE,
        fix="see /proc/mdstat, replace the disk", source="Linux md.rst; RAID 0 has no such file",
    ),
    Setting(
        id="storage.read_ahead", variable="storage_read_ahead", what="Read-ahead of the place for models", value=4_096,
        compare="at_least", why="one reader does not keep all disks busy", unit="KiB", severity="note", scope=_HERE,
        readings=(readings.MOUNTS, files("/sys/class/block/*/queue/read_ahead_kb")), parse=host.read_ahead,
        argument="{storage_path}",
        source="our choice: a chunk of 512 KiB on each of eight disks",
    ),
    Setting(
        id="storage.scheduler", value="none", fix="find the udev rule that sets another one",
        what="Who orders requests to NVMe disks", why="a disk with many queues is slowed by an order of ours",
        readings=(files("/sys/block/nvme*n1/queue/scheduler"),), parse=text.bracketed, scope=_HERE,
        source="Linux: default of NVMe devices with several queues",
    ),
    Setting(
        id="storage.before_kubelet", what="Kubelet waits for the folder of models", value=("{storage_path}",),
        compare="has", why="pods start without it, and load models onto the disk of the system",
        readings=(command("systemctl", "show", "kubelet", "--property=RequiresMountsFor"),), parse=units.prop_words,
        argument="RequiresMountsFor", scope=Scope(boards=GPUS_CLUSTER.boards, machine="metal", kubernetes=True),
        fix="play role storage: it writes a drop-in of kubelet", source="OCI, azhpc-images: mounted before kubelet",
    ),
    Setting(
        id="storage.disks", what="NVMe disks that are there", value=8, compare="at_least", unit="disks",
        why="a disk is gone, and the array with it", readings=(files("/sys/class/nvme/nvme*/state"),), parse=text.count,
        argument="^live", scope=_HERE, fix="see nvme list and the kernel log; reseat or replace the disk",
        source="azurehpc-health-checks azure_nvme_count.nhc; DGX user guides: 8 drives for data",
    ),
    Setting(
        id="storage.warnings", what="Warnings of NVMe disks (critical_warning)", value="0", also=("0x0", "0x00"),
        why="spare blocks run out, or the disk is too hot", readings=_SMART, parse=text.pattern, severity="page",
        argument=r"^critical_warning\s*:\s*(?P<value>\S+)", scope=_HERE, fix="replace the disk", source="oci-hpc; NVMe",
    ),
    Setting(
        id="storage.nfs_slots", variable="storage_nfs_slots", compare="at_least", unit="requests", severity="note",
        what="Requests at once to an NFS server", why="one connection does not load a model at the link's speed",
        value=128, readings=(files("/sys/module/sunrpc/parameters/tcp_max_slot_table_entries", optional=True),),
        parse=text.words,
        source="azhpc-images hpc-tuning.sh",
    ),
    Setting(
        id="storage.nfs_read_ahead", variable="storage_nfs_read_ahead", what="Read-ahead of NFS volumes", value=15_380,
        compare="at_least", why="one reader waits for each request", unit="KiB", severity="note",
        readings=(files("/proc/fs/nfsfs/volumes", optional=True),
        files("/sys/class/bdi/0:*/read_ahead_kb", optional=True)),
        parse=host.nfs_read_ahead, scope=METAL, source="azhpc-images hpc-tuning.sh",
    ),
)  # fmt: skip
"""The array, then the disks below, then disks of others."""
