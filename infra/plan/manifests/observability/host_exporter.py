"""node-exporter on every real host: reads the host, writes nothing."""

from __future__ import annotations

from infra.catalog.settings import SETTINGS
from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.observability.form import RESTRICTED, resources

NAME = "node-exporter"
"""Name of its DaemonSet and account."""

PORT = 9100
"""Port of its metrics. Source: Prometheus, default port allocations."""

LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "railwright"}
"""Labels of its pods."""

NOBODY_ID = 65_534
"""User without rights of its own; what the published image runs as."""

TEXT_FOLDER = "/var/lib/railwright/metrics"
"""Folder on each host whose ``*.prom`` files are exported too; the host plays write there."""

_MOUNTS = r"^/(dev|proc|sys|run)($|/)|/(kubelet|containerd|docker|containers)/"
"""Mount points that are no disks of the host."""

_PAUSES = "^(rx|tx)_prio[0-9]_pause(_duration)?$|^(rx|tx)_discards_phy$|^rx_symbol_err_phy$|^link_down_events_phy$"
"""Counters of a NIC beyond those of every interface. Source: mlx5 driver, ethtool counters."""


def objects(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """Account and DaemonSet: part → manifest."""
    spec = {
        "selector": {"matchLabels": LABELS},
        "revisionHistoryLimit": 1,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        "template": {"metadata": {"labels": LABELS}, "spec": _pod(plan, seen)},
    }
    return {
        "host-exporter-account": manifest(
            "v1", "ServiceAccount", NAME, seen.namespace, automountServiceAccountToken=False
        ),
        "host-exporter": manifest("apps/v1", "DaemonSet", NAME, seen.namespace, spec=spec),
    }


def _pod(plan: Plan, seen: ObservabilityPlan) -> Manifest:
    folders = {"proc": "/proc", "sys": "/sys", "root": "/"}
    pod: Manifest = {
        "serviceAccountName": NAME,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": NOBODY_ID,
            "runAsGroup": NOBODY_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        # A host that is tainted, because it fails, is the one to look at.
        "tolerations": [{"operator": "Exists"}],
        "containers": [_container(plan, seen)],
        "volumes": [{"name": name, "hostPath": {"path": path}} for name, path in folders.items()],
    }
    if plan.target.exporter_on_host_network:
        pod["hostNetwork"] = True
    if label := plan.target.simulated_label:
        real = {"matchExpressions": [{"key": label, "operator": "DoesNotExist"}]}
        required = {"nodeSelectorTerms": [real]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return pod


def _container(plan: Plan, seen: ObservabilityPlan) -> Manifest:
    mounts: list[Manifest] = [
        {"name": "proc", "mountPath": "/host/proc", "readOnly": True},
        {"name": "sys", "mountPath": "/host/sys", "readOnly": True},
        {"name": "root", "mountPath": "/host/root", "readOnly": True, "mountPropagation": "HostToContainer"},
    ]
    return {
        "name": NAME,
        "image": seen.images[NAME],
        "imagePullPolicy": "IfNotPresent",
        "args": _arguments(plan),
        "env": [{"name": "HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
        "ports": [{"name": "metrics", "containerPort": PORT}],
        "resources": resources(0.05, 128, request_mib=32),
        "securityContext": RESTRICTED,
        "readinessProbe": {"httpGet": {"path": "/", "port": "metrics"}, "periodSeconds": 10, "timeoutSeconds": 5},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }


def _arguments(plan: Plan) -> list[str]:
    args = [
        "--path.procfs=/host/proc",
        "--path.sysfs=/host/sys",
        "--path.rootfs=/host/root",
        f"--collector.filesystem.mount-points-exclude={_MOUNTS}",
        f"--collector.textfile.directory=/host/root{TEXT_FOLDER}",
        "--collector.sysctl",
        *(f"--collector.sysctl.include={setting.key}" for setting in SETTINGS),
        "--log.level=warn",
    ]
    if not plan.target.exporter_on_host_network:
        return [*args, f"--web.listen-address=:{PORT}"]
    # On the host's own network: not on every address of the host.
    listen = f"--web.listen-address=$(HOST_IP):{PORT}"
    return [*args, listen, "--collector.ethtool", f"--collector.ethtool.metrics-include={_PAUSES}"]
