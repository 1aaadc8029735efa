"""kube-state-metrics: what the API says of hosts, pods and rollouts, as numbers."""

from __future__ import annotations

from infra.plan.facts import ObservabilityPlan
from infra.plan.labels import LEAF_LABEL, POOL_LABEL
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.observability import access
from infra.plan.manifests.observability.form import RESTRICTED, pod_security, resources

NAME = "kube-state-metrics"
"""Name of its Deployment, account and roles."""

LABELS = {"app.kubernetes.io/name": NAME, "app.kubernetes.io/part-of": "railwright"}
"""Labels of its pods."""

WATCHED = {
    "": ("nodes", "pods"),
    "apps": ("daemonsets", "deployments", "statefulsets"),
    "batch": ("jobs",),
    "policy": ("poddisruptionbudgets",),
}
"""Kinds that it counts, by API group; it may list no other."""

_HOST_LABELS = f"nodes=[{POOL_LABEL},{LEAF_LABEL},network.topology.nvidia.com/leaf]"


def objects(seen: ObservabilityPlan) -> dict[str, Manifest]:
    """Account, roles and Deployment: part → manifest."""
    rules: list[Manifest] = [
        {"apiGroups": [group], "resources": list(kinds), "verbs": ["list", "watch"]} for group, kinds in WATCHED.items()
    ]
    return {
        "object-exporter-account": manifest("v1", "ServiceAccount", NAME, seen.namespace),
        **access.cluster_role(NAME, seen.namespace, rules),
        "object-exporter": manifest("apps/v1", "Deployment", NAME, seen.namespace, spec=_deployment(seen)),
    }


def _deployment(seen: ObservabilityPlan) -> Manifest:
    kinds = ",".join(sorted(kind for found in WATCHED.values() for kind in found))
    container = {
        "name": NAME,
        "image": seen.images[NAME],
        "imagePullPolicy": "IfNotPresent",
        "args": [f"--resources={kinds}", f"--metric-labels-allowlist={_HOST_LABELS}"],
        "ports": [{"name": "metrics", "containerPort": 8080}, {"name": "self", "containerPort": 8081}],
        "resources": resources(0.05, 512, request_mib=64),
        "securityContext": RESTRICTED,
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "self"}, "periodSeconds": 10, "timeoutSeconds": 5},
        "livenessProbe": {
            "httpGet": {"path": "/livez", "port": "metrics"},
            "periodSeconds": 10,
            "timeoutSeconds": 5,
            "failureThreshold": 6,
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    pod = {
        "serviceAccountName": NAME,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "containers": [container],
    }
    return {
        "replicas": 1,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": pod},
    }
