"""dcgm-exporter on every host with GPUs, with the counters that our rules ask for."""

from __future__ import annotations

import hashlib

from infra.catalog.dcgm import COUNTERS
from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.labels import GPU_TAINT, TENANT, of_pools
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.observability.form import resources

NAME = "dcgm-exporter"
"""Name of its DaemonSet, account and ConfigMap."""

PORT = 9400
"""Port of its metrics. Source: dcgm-exporter's default."""

LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "railwright"}
"""Labels of its pods."""

XID_WINDOW_MS = 300_000
"""For how long an Xid is counted (milliseconds). Source: dcgm-exporter, --xid-count-window-size."""


def objects(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """Account, counters and DaemonSet: part → manifest."""
    text = counters()
    note = {"railwright.dev/config-digest": hashlib.sha256(text.encode()).hexdigest()[:16]}
    spec = {
        "selector": {"matchLabels": LABELS},
        "revisionHistoryLimit": 1,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        "template": {"metadata": {"labels": LABELS, "annotations": note}, "spec": _pod(plan, seen)},
    }
    account = manifest("v1", "ServiceAccount", NAME, seen.namespace, automountServiceAccountToken=False)
    return {
        "gpu-exporter-account": account,
        "gpu-exporter-counters": manifest("v1", "ConfigMap", NAME, seen.namespace, data={"counters.csv": text}),
        "gpu-exporter": manifest("apps/v1", "DaemonSet", NAME, seen.namespace, spec=spec),
    }


def counters() -> str:
    """The list of counters as dcgm-exporter reads it."""
    return "".join(f"{row.field}, {row.kind}, {row.says}\n" for row in COUNTERS)


def _pod(plan: Plan, seen: ObservabilityPlan) -> Manifest:
    folders = {"pod-resources": "/var/lib/kubelet/pod-resources"}
    volumes: list[Manifest] = [{"name": name, "hostPath": {"path": path}} for name, path in folders.items()]
    return {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **({"runtimeClassName": plan.ownership.runtime_class} if plan.ownership.runtime_class else {}),
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _of_pools(plan)}},
        "tolerations": [{"key": key, "operator": "Exists", "effect": "NoSchedule"} for key in (GPU_TAINT, TENANT)],
        "containers": [_container(seen)],
        "volumes": [*volumes, {"name": "counters", "configMap": {"name": NAME}}],
    }


def _of_pools(plan: Plan) -> Manifest:
    """Hosts by their pool: labels about GPUs are there only where somebody runs GPU feature discovery."""
    pools = sorted(pool.name for pool in plan.pools if pool.board.gpu and not pool.simulated)
    return of_pools(pools)


def _container(seen: ObservabilityPlan) -> Manifest:
    return {
        "name": NAME,
        "image": seen.images[NAME],
        "imagePullPolicy": "IfNotPresent",
        "args": [
            "--collectors=/etc/railwright/counters.csv",
            f"--address=:{PORT}",
            "--kubernetes=true",
            f"--collect-interval={seen.scrape_interval * 1000}",
            f"--xid-count-window-size={XID_WINDOW_MS}",
        ],
        "env": [
            # Sees every GPU and takes none.
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility,compute"},
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        ],
        "ports": [{"name": "metrics", "containerPort": PORT}],
        "resources": resources(0.1, 1024, request_mib=256),
        # Profiling counters need SYS_ADMIN; the pod-resources socket belongs to root.
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "readinessProbe": {
            "httpGet": {"path": "/health", "port": "metrics"},
            "initialDelaySeconds": 30,
            "periodSeconds": 15,
            "timeoutSeconds": 5,
        },
        "volumeMounts": [
            {"name": "pod-resources", "mountPath": "/var/lib/kubelet/pod-resources", "readOnly": True},
            {"name": "counters", "mountPath": "/etc/railwright", "readOnly": True},
        ],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
