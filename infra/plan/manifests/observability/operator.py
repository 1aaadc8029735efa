"""The prometheus-operator: it may write in one namespace, and knows of no other."""

from __future__ import annotations

from infra.plan.facts import ObservabilityPlan
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.observability import access
from infra.plan.manifests.observability.form import RESTRICTED, pod_security, resources

NAME = "prometheus-operator"
"""Name of its Deployment, account and roles."""

LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "railwright"}
"""Labels of its pods."""

_OWNED = ("prometheuses", "alertmanagers")
_READ = ("servicemonitors", "podmonitors", "probes", "scrapeconfigs", "prometheusrules", "alertmanagerconfigs")


def objects(seen: ObservabilityPlan) -> dict[str, Manifest]:
    """Account, roles and Deployment: part → manifest."""
    return {
        "operator-account": manifest("v1", "ServiceAccount", NAME, seen.namespace),
        **access.cluster_role(NAME, seen.namespace, _cluster_rules(seen.namespace)),
        **access.role(NAME, seen.namespace, seen.namespace, _rules()),
        "operator": manifest("apps/v1", "Deployment", NAME, seen.namespace, spec=_deployment(seen)),
    }


def _cluster_rules(namespace: str) -> list[Manifest]:
    """What lies outside any namespace: its own one, and the classes of claims."""
    return [
        {"apiGroups": [""], "resources": ["namespaces"], "resourceNames": [namespace], "verbs": ["get"]},
        {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": ["get"]},
    ]


def _rules() -> list[Manifest]:
    """Source: prometheus-operator 0.93, Documentation/platform/rbac.md, without what its flags turn off."""
    change = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
    group = "monitoring.coreos.com"
    parts = [f"{kind}/{part}" for kind in _OWNED for part in ("status", "finalizers")]
    return [
        {"apiGroups": [group], "resources": [*_OWNED, *_READ], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [group], "resources": parts, "verbs": ["get", "update", "patch"]},
        {"apiGroups": ["apps"], "resources": ["statefulsets"], "verbs": change},
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": change},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "delete"]},
        {
            "apiGroups": [""],
            "resources": ["services", "services/finalizers", "endpoints"],
            "verbs": ["get", "create", "update", "delete"],
        },
    ]


def _deployment(seen: ObservabilityPlan) -> Manifest:
    return {
        "replicas": 1,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": _pod(seen)},
    }


def _pod(seen: ObservabilityPlan) -> Manifest:
    probe = {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 10, "timeoutSeconds": 5}
    return {
        "serviceAccountName": NAME,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "containers": [
            {
                "name": NAME,
                "image": seen.images[NAME],
                "imagePullPolicy": "IfNotPresent",
                "args": [
                    f"--namespaces={seen.namespace}",
                    f"--prometheus-config-reloader={seen.images['prometheus-config-reloader']}",
                    "--config-reloader-cpu-request=10m",
                    "--config-reloader-memory-request=32Mi",
                    "--config-reloader-memory-limit=64Mi",
                    "--log-level=warn",
                ],
                "ports": [{"name": "http", "containerPort": 8080}],
                "resources": resources(0.05, 256, request_mib=96),
                "securityContext": RESTRICTED,
                "readinessProbe": probe | {"failureThreshold": 3},
                "livenessProbe": probe | {"failureThreshold": 6},
                "terminationMessagePolicy": "FallbackToLogsOnError",
            }
        ],
    }
