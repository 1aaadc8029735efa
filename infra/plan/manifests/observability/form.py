"""Shapes that several objects of the monitoring share."""

from __future__ import annotations

from typing import Any

from infra.plan.facts import ObservabilityPlan
from infra.plan.labels import LEAF_LABEL, POOL_LABEL
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.model import USER_ID

GROUP = "monitoring.coreos.com/v1"
"""API of the prometheus-operator."""

RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True}
"""Security context of a container that needs nothing."""


def pod_security() -> Manifest:
    """Security context of a pod that needs nothing."""
    return {
        "runAsNonRoot": True,
        "runAsUser": USER_ID,
        "runAsGroup": USER_ID,
        "fsGroup": USER_ID,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def selected(seen: ObservabilityPlan, api_version: str, kind: str, name: str, spec: Any) -> Manifest:
    """An object that a Prometheus finds by its labels."""
    return manifest(api_version, kind, name, seen.namespace, labels=dict(seen.labels), spec=spec)


def resources(cpus: float, memory_mib: int, *, request_mib: int | None = None) -> Manifest:
    """Requests and limits; a CPU limit would only slow a burst down."""
    requests = {"cpu": f"{round(cpus * 1000)}m", "memory": f"{request_mib or memory_mib}Mi"}
    return {"requests": requests, "limits": {"memory": f"{memory_mib}Mi"}}


def fixed(label: str, value: str) -> Manifest:
    """Relabelling: one label, one value."""
    return {"targetLabel": label, "replacement": value}


def copied(label: str, source: str) -> Manifest:
    """Relabelling: one label from what discovery says; absent there, absent here."""
    return {"sourceLabels": [source], "targetLabel": label}


def meta(role: str, label: str) -> str:
    """What discovery calls a Kubernetes label.

    Args:
        role: ``node`` or ``pod``.
        label: key of the label.
    """
    return f"__meta_kubernetes_{role}_label_{_plain(label)}"


def where(host: str) -> list[Manifest]:
    """Relabelling: host, its pool and its leaf.

    Args:
        host: what discovery calls the host's name.
    """
    node = (copied("pool", meta("node", POOL_LABEL)), copied("leaf", meta("node", LEAF_LABEL)))
    return [copied("host", host), *node]


def without_simulated(label: str) -> list[Manifest]:
    """Relabelling: drop what runs on hosts that exist in the API only."""
    if not label:
        return []
    present = f"__meta_kubernetes_node_labelpresent_{_plain(label)}"
    return [{"sourceLabels": [present], "regex": "true", "action": "drop"}]


def _plain(label: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in label)
