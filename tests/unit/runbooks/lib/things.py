"""Objects as the API server has them, for tests of what is read from them."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def node(name: str = "h-0", *, cordoned: bool = False, reasons: str = "", ready: bool = True, **extra: Any) -> Object:
    """A Node with room for 8 CPUs and 8 GPUs."""
    notes = {"railwright.dev/cordoned-by": reasons} if reasons else {}
    return {
        "metadata": {
            "name": name,
            "resourceVersion": "7",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": extra.get("labels", {"railwright.dev/pool": "a"}),
            "annotations": notes,
        },
        "spec": {"unschedulable": True} if cordoned else {},
        "status": {
            "conditions": [{"type": "Ready", "status": str(ready), "reason": "r", "message": "m"}],
            "allocatable": {"cpu": "8", "memory": "16Gi", "pods": "3", "nvidia.com/gpu": "8"},
            "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        },
    } | ({"spec": {"taints": extra["taints"]}} if "taints" in extra else {})


def pod(name: str = "p", host: str = "h-0", *, owner: str = "ReplicaSet/rs", cpu: str = "1", **spec: Any) -> Object:
    """A Pod that runs."""
    kind, _, called = owner.partition("/")
    owners = [{"kind": kind, "name": called, "controller": True}] if owner else []
    return {
        "metadata": {
            "namespace": "models",
            "name": name,
            "uid": f"uid-{name}",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": owners,
        },
        "spec": {
            "nodeName": host,
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}],
            **spec,
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }
