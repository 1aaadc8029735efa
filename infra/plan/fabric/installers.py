"""Programs of clouds on each host of a pool with a fabric: the EFA plugin, and Google's installers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from infra.catalog.fabrics.images import PAUSE
from infra.plan.facts import Plan, PoolPlan
from infra.plan.labels import of_pools, tolerations
from infra.plan.manifests.base import Manifest, manifest

NAMESPACE = "kube-system"
"""Namespace of what a cloud would put there itself: GKE lets system-node-critical pods run here without a quota.
Source: AICR manifests/gke-resource-quota.yaml, which is needed elsewhere."""

_APERTURES = """\
set -e
iptables -I INPUT -p tcp -m tcp -j ACCEPT
modprobe import-helper
for device in $(lspci -nn -D | grep 1ae0:0084 | cut -d ' ' -f 1); do
  at=/dev/aperture_devices/$device
  mkdir -p "$at"
  if mountpoint -q "$at"; then umount -R "$at"; fi
  mount --bind "$(readlink -f "/sys/bus/pci/devices/$device")" "$at"
  chmod a+r "$at"
  chmod a+rw "$at"/resource*
done
"""
"""Opens the NICs' memory to pods. Source: what nccl-tcpxo-installer.yaml does before it installs; a second run is the
same as the first."""


def installers(plan: Plan) -> dict[str, Manifest]:
    """What the stack puts on hosts itself: part → manifest."""
    if plan.fabric.plugins == "existing":
        return {}
    made: dict[str, Manifest] = {}
    for server, build in (("EFA plugin", _efa), ("gIB", _gib), ("TCPXO", _tcpxo)):
        pools = [pool for pool in plan.pools if pool.access and pool.access.server == server and not pool.missing_parts]
        if pools:
            made |= build(pools[0].parts, pools)
    return made


def _efa(images: Mapping[str, str], pools: Sequence[PoolPlan]) -> dict[str, Manifest]:
    container = {
        "name": "efa-plugin",
        "image": images["efa-plugin"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": {"requests": {"cpu": "10m", "memory": "20Mi"}, "limits": {"memory": "64Mi"}},
        "volumeMounts": [
            {"name": "device-plugins", "mountPath": "/var/lib/kubelet/device-plugins"},
            {"name": "infiniband", "mountPath": "/dev/infiniband", "readOnly": True},
        ],
    }
    volumes = {"device-plugins": "/var/lib/kubelet/device-plugins", "infiniband": "/dev/infiniband"}
    return {"efa-plugin": _daemons("efa-plugin", pools, volumes, containers=[container])}


def _gib(images: Mapping[str, str], pools: Sequence[PoolPlan]) -> dict[str, Manifest]:
    script = (
        "set -e; /scripts/container_entry.sh install; "
        "cp -r /var/lib/gib/lib64/. /host/nvidia/lib64; cp -r /var/lib/gib/. /host/gib"
    )
    install = _privileged("install", images["gib"], ["/bin/sh", "-c", script])
    install["volumeMounts"] = [
        {"name": "nvidia", "mountPath": "/host/nvidia/lib64"},
        {"name": "gib", "mountPath": "/host/gib"},
    ]
    volumes = {"nvidia": "/home/kubernetes/bin/nvidia/lib64", "gib": "/home/kubernetes/bin/gib"}
    return {"gib": _daemons("gib", pools, volumes, init=[install])}


def _tcpxo(images: Mapping[str, str], pools: Sequence[PoolPlan]) -> dict[str, Manifest]:
    enter = ["nsenter", "-at", "1", "--", "sh", "-c", _APERTURES]
    script = (
        "set -e; chmod 755 /scripts/container_entry.sh; /scripts/container_entry.sh install --install-nccl; "
        "mkdir -p /host/nvidia/lib64; cp -r /var/lib/tcpxo/lib64/. /host/nvidia/lib64"
    )
    install = _privileged("install", images["tcpxo"], ["/bin/sh", "-c", script])
    install["volumeMounts"] = [
        {"name": "var-lib", "mountPath": "/var/lib"},
        {"name": "libraries", "mountPath": "/host"},
    ]
    opened = _privileged("open", images["tcpxo-host"], enter)
    volumes = {"var-lib": "/var/lib", "libraries": "/home/kubernetes/bin"}
    inject = _privileged("device-injector", images["device-injector"], [])
    inject["volumeMounts"] = [{"name": "dev", "mountPath": "/dev"}, {"name": "nri", "mountPath": "/var/run/nri"}]
    return {
        "tcpxo": _daemons("tcpxo", pools, volumes, init=[opened, install], host_pid=True),
        "device-injector": _daemons(
            "device-injector", pools, {"dev": "/dev", "nri": "/var/run/nri"}, containers=[inject]
        ),
    }


def _privileged(name: str, image: str, command: list[str]) -> Manifest:
    container: Manifest = {
        "name": name,
        "image": image,
        "securityContext": {"privileged": True},
        "resources": {"requests": {"cpu": "150m", "memory": "64Mi"}, "limits": {"memory": "1Gi"}},
    }
    return container | ({"command": command} if command else {})


def _daemons(
    name: str,
    pools: Sequence[PoolPlan],
    volumes: dict[str, str],
    *,
    init: list[Manifest] | None = None,
    containers: list[Manifest] | None = None,
    host_pid: bool = False,
) -> Manifest:
    """One DaemonSet over the hosts of some pools; what only installs stays as a pod that does nothing."""
    labels = {"app.kubernetes.io/name": f"fabric-{name}"}
    idle: Manifest = {
        "name": "pause",
        "image": PAUSE,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "16Mi"}},
    }
    here = of_pools(pool.name for pool in pools)
    pod: Manifest = {
        "automountServiceAccountToken": False,
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "tolerations": tolerations(pools),
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": here}},
        "containers": containers or [idle],
        "volumes": [{"name": volume, "hostPath": {"path": path}} for volume, path in volumes.items()],
    }
    pod |= {"hostPID": True} if host_pid else {}
    pod |= {"initContainers": init} if init else {}
    spec = {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return manifest("apps/v1", "DaemonSet", f"fabric-{name}", NAMESPACE, labels=labels, spec=spec)
