"""What one pod needs so that it reaches the fabric: the pod's side of what serves its hosts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from infra.catalog.fabrics import Access, HostFolder
from infra.plan.fabric.rails import rails_of
from infra.plan.facts import PoolPlan
from infra.plan.manifests.base import Manifest

NETWORKS = "k8s.v1.cni.cncf.io/networks"
"""Annotation by which Multus gives a pod more interfaces. Source: multus-cni, how to use."""

GKE_INTERFACES = "networking.gke.io/interfaces"
"""Annotation by which GKE does. Source: GKE, Set up multi-network support for Pods."""
GKE_DEFAULT = "networking.gke.io/default-interface"
"""Annotation that names the first one. Source: as above."""

GKE_DEVICES = "devices.gke.io/container.{}"
"""Annotation by which the device injector gives devices to a container. Source: container-engine-accelerators
nri_device_injector."""

DAEMON = "tcpxo-daemon"
"""Name of the container that receives for the GPUs of a pod under TCPXO."""

DAEMON_FOLDERS = (HostFolder("sys", "/sys", "/hostsysfs"), HostFolder("proc-sys", "/proc/sys", "/hostprocsysfs"))
"""Folders of the host that only the daemon sees. Source: as above."""


@dataclass(frozen=True, slots=True)
class PodFabric:
    """A pod's share of the fabric, as typed values."""

    resources: Mapping[str, str] = field(default_factory=dict)
    """Requested and limited alike."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    capabilities: tuple[str, ...] = ()
    """Of Linux, all others dropped."""
    env: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[HostFolder, ...] = ()
    huge_pages_mib: int = 0
    """Of 2 MiB each (MiB)."""
    daemon: str = ""
    """Image of the container that receives for the pod's GPUs; empty: none."""


NO_FABRIC = PodFabric()
"""Of a pod that stays on one host."""


def pod_fabric(plan: PoolPlan, devices: int) -> PodFabric:
    """What a pod with so many devices of a pool's fabric needs.

    Args:
        devices: as the model says (count); 0: it does not use the fabric.
    """
    access = plan.access
    if access is None or not devices:
        return NO_FABRIC
    return PodFabric(
        resources=_resources(plan, access, devices),
        annotations=_annotations(plan, access, devices),
        capabilities=access.capabilities,
        env=access.env,
        folders=access.folders,
        huge_pages_mib=access.huge_pages_mib,
        daemon=plan.parts.get(access.daemon, ""),
    )


def _resources(plan: PoolPlan, access: Access, devices: int) -> dict[str, str]:
    if access.asks == "rails":
        return dict.fromkeys(plan.rdma_resources, "1")
    return {access.resource: str(devices)} if access.resource else {}


def _annotations(plan: PoolPlan, access: Access, devices: int) -> dict[str, str]:
    if access.asks == "networks":
        return _gke(plan, access)
    rails = [rail for rail in rails_of(plan) if rail.block or access.mode != "shared"]
    # Where all rails are one network, a pod is in it once for each device.
    names = [rail.name for rail in rails] * (devices if access.attaches == "device" else 1)
    joined = ",".join(f"{name}@rail{number}" for number, name in enumerate(names))
    return {NETWORKS: joined} if joined else {}


def _gke(plan: PoolPlan, access: Access) -> dict[str, str]:
    nics = [nic for nic in plan.shape.nics if nic.is_fabric] if plan.shape else []
    interfaces = [{"interfaceName": "eth0", "network": "default"}]
    interfaces += [{"interfaceName": f"eth{nic.card}", "network": f"{nic.kind}-{nic.card}"} for nic in nics]
    notes = {GKE_DEFAULT: "eth0", GKE_INTERFACES: json.dumps(interfaces)}
    if access.server == "TCPXO":
        devices = [f"/dev/nvidia{number}" for number in range(plan.board.gpus)]
        devices += ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/dmabuf_import_helper"]
        notes[GKE_DEVICES.format(DAEMON)] = json.dumps([{"path": path} for path in devices])
    return notes


def daemon(fabric: PodFabric) -> Manifest:
    """The container that receives for a pod's GPUs: there before the engine, and gone after it.

    Source: container-engine-accelerators gpudirect-tcpxo/nccl-test-latest.yaml.
    """
    start = "chmod 755 /fts/entrypoint_rxdm_container.sh && exec /fts/entrypoint_rxdm_container.sh --num_hops=2"
    return {
        "name": DAEMON,
        "image": fabric.daemon,
        "restartPolicy": "Always",
        "command": ["/bin/sh", "-c", start],
        "env": [{"name": "LD_LIBRARY_PATH", "value": fabric.env.get("LD_LIBRARY_PATH", "")}],
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {
            "runAsNonRoot": False,
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN", "NET_BIND_SERVICE"]},
        },
        "volumeMounts": [
            {"name": folder.name, "mountPath": folder.mount, "readOnly": True}
            for folder in (*fabric.folders[:1], *DAEMON_FOLDERS)
        ],
    }
