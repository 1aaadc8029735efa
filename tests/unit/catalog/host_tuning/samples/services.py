"""Storage, time, hardening, containers and kubelet."""

from __future__ import annotations

import json

from tests.unit.catalog.host_tuning.samples.form import ACTIVE, INACTIVE, NOT_FOUND, Sample, one, unit

_PATH = "/var/lib/railwright/models"
_MOUNTED = f"/dev/md127 {_PATH} xfs rw,noatime,nodiratime,attr2 0 0\n"
_SSHD = "permitrootlogin {root}\npasswordauthentication {answer}\nkbdinteractiveauthentication {answer}\n" \
        "x11forwarding {answer}\npermitemptypasswords {answer}\nmaxauthtries {tries}\n"  # fmt: skip
_SSH = one(_SSHD.format(root="without-password", answer="no", tries=3), _SSHD.format(root="yes", answer="yes", tries=6))
_SMART = "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\ncritical_warning      : {}\ntemperature : 35\n"
_TRACKING = "0A010001,time-1,2,1764680000.1,{offset},-0.0000012,0.000003,-5.1,0.001,0.02,0.0002,0.0001,64.2,{leap}\n"
_CONTAINERD = {"LoadState": "loaded", "ActiveState": "active", "LimitMEMLOCK": "infinity", "LimitNOFILE": "1048576",
               "NeedDaemonReload": "no"}  # fmt: skip
_BAD = unit(
    LoadState="loaded", ActiveState="failed", LimitMEMLOCK="8388608", LimitNOFILE="524287", NeedDaemonReload="yes"
)
_DUMP = "enable_cdi = {cdi}\n[plugins.runc.options]\n  SystemdCgroup = {systemd}\n"
_RUNS = one(unit(**_CONTAINERD), _BAD)
_CONFIGURED = one(_DUMP.format(cdi="true", systemd="true"), _DUMP.format(cdi="false", systemd="false"))
_KUBELET = (
    "kind: KubeletConfiguration\ncgroupDriver: {driver}\ncpuManagerPolicy: {cpu}\n"
    'reservedSystemCPUs: "{cpus}"\ntopologyManagerPolicy: {topology}\n'
)
_RIGHT = _KUBELET.format(driver="systemd", cpu="static", cpus="0-1", topology="restricted")
_WRONG = _KUBELET.format(driver="cgroupfs", cpu="static", cpus="0", topology="none")


def _registered(count: int) -> str:
    devices = {"nvidia.com/gpu": [f"GPU-{n}" for n in range(count)], "rdma/hca": [str(n) for n in range(count)]}
    return json.dumps({"Data": {"PodDeviceEntries": None, "RegisteredDevices": devices}, "Checksum": 1})


def _cdi(version: str) -> tuple[dict[str, str], None, str]:
    return {"/etc/cdi/nvidia.yaml": f"hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.{version}\n"}, None, "580.126.09\n"


def _ahead(kib: int) -> dict[str, str]:
    return {f"/sys/class/block/{name}/queue/read_ahead_kb": f"{of}\n" for name, of in (("sda", 64), ("md127", kib))}


def _disks(kind: str) -> dict[str, str]:
    return {f"/sys/class/nvme/nvme{n}/state": "live\n" if n else f"{kind}\n" for n in range(8)}


BY_ID: dict[str, Sample] = {
    "storage.filesystem": one(_MOUNTED, "/dev/sda1 / ext4 rw 0 0\n"),
    "storage.options": one(_MOUNTED, f"/dev/md127 {_PATH} xfs rw,relatime 0 0\n"),
    "storage.level": ((_MOUNTED, "Personalities : [raid0]\nmd127 : active raid0 nvme1n1[1] nvme0n1[0]\n"),
                      (_MOUNTED, "md127 : active (auto-read-only) raid1 nvme1n1[1]\n")),
    "storage.degraded": one("0\n", "1\n"),
    "storage.read_ahead": ((_MOUNTED, _ahead(4_096)), (_MOUNTED, _ahead(128))),
    "storage.scheduler": one("[none] mq-deadline\n", "none [mq-deadline]\n"),
    "storage.before_kubelet": one(f"RequiresMountsFor={_PATH} /var/lib/kubelet\n",
        "RequiresMountsFor=/var/lib/kubelet\n"),
    "storage.disks": one(_disks("live"), _disks("dead")),
    "storage.warnings": (tuple(_SMART.format(0) for _ in range(8)),
        (*(_SMART.format(0) for _ in range(7)), _SMART.format("0x4"))),
    "storage.nfs_slots": one("128\n", "64\n"),
    "storage.nfs_read_ahead": (
        ("NV SERVER   PORT DEV          FSID\nv4 0a010002  801 0:51         1:0\n",
         {"/sys/class/bdi/0:51/read_ahead_kb": "15380\n", "/sys/class/bdi/0:30/read_ahead_kb": "128\n"}),
        ("NV SERVER   PORT DEV          FSID\nv4 0a010002  801 0:51         1:0\n",
            {"/sys/class/bdi/0:51/read_ahead_kb": "128\n"})),
    "time_sync.service": one(ACTIVE, INACTIVE),
    "time_sync.timesyncd": one(NOT_FOUND, ACTIVE),
    "time_sync.ntpd": one(NOT_FOUND, ACTIVE),
    "time_sync.state": one(_TRACKING.format(offset="0.00001", leap="Normal"),
        _TRACKING.format(offset="0", leap="Not synchronised")),
    "time_sync.max_offset": one(_TRACKING.format(offset="-0.000012", leap="Normal"),
        _TRACKING.format(offset="-0.25", leap="Normal")),
    "time_sync.source": (
        ("^,*,10.1.0.1,2,6,377,1\n^,+,10.1.0.2,2,6,377,1\n", _TRACKING.format(offset="0", leap="Normal")),
        ("^,?,10.1.0.1,2,6,0,1\n", _TRACKING.format(offset="0", leap="Normal"))),
    **{f"hardening.ssh_{name}": _SSH for name in ("passwords", "root", "x11", "questions", "empty_passwords", "tries")},
    "hardening.audit": one("-w /etc/passwd -p wa -k accounts\n", "No rules\n"),
    "hardening.ufw": one("ENABLED=no\n", "ENABLED=yes\n"),
    "hardening.firewalld": one(NOT_FOUND, ACTIVE),
    "hardening.user_namespaces": one("1\n", "0\n"),
    "container_runtime.service": _RUNS,
    "container_runtime.memlock": _RUNS,
    "container_runtime.nofile": _RUNS,
    "container_runtime.reload": _RUNS,
    "container_runtime.cgroup_driver": _CONFIGURED,
    "container_runtime.cdi": _CONFIGURED,
    "container_runtime.cdi_driver": (_cdi("580.126.09"), _cdi("570.211.01")),
    "container_runtime.device_links": one("/dev/char/195:0\n/dev/char/195:255\n", ""),
    "kubelet.service": one(ACTIVE, unit(LoadState="loaded", ActiveState="activating")),
    "kubelet.cpu_policy": ((_RIGHT, '{"policyName":"static","checksum":1}'),
        (_RIGHT, '{"policyName":"none","checksum":1}')),
    "kubelet.reserved_cpus": one(_RIGHT, _WRONG),
    "kubelet.topology_policy": one(_RIGHT, _WRONG),
    "kubelet.memory_policy": one('{"policyName":"None","checksum":1}', '{"policyName":"Static","checksum":1}'),
    "kubelet.cgroup_driver": one(_RIGHT, _WRONG),
    "kubelet.gpus": one(_registered(8), _registered(7)),
    "kubelet.rdma_devices": one(_registered(8), _registered(0)),
}  # fmt: skip
"""Setting → what a host says."""
