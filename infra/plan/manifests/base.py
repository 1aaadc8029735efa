"""What all our Kubernetes objects have in common."""

from __future__ import annotations

from typing import Any

Manifest = dict[str, Any]
"""One Kubernetes object, or a part of one, as plain data."""


PART_OF = {"app.kubernetes.io/part-of": "railwright"}
"""Label of every object of ours, and of every pod that serves."""


def manifest(
    api_version: str,
    kind: str,
    name: str,
    namespace: str | None = None,
    *,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    **body: Any,
) -> Manifest:
    """Put one object together; ``body`` holds its fields beside the metadata."""
    metadata: Manifest = {"name": name, "labels": {**PART_OF, **(labels or {})}}
    if namespace:
        metadata["namespace"] = namespace
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def namespace(name: str, *, pod_security: str) -> Manifest:
    """A namespace that enforces a Pod Security level.

    Args:
        pod_security: ``restricted``, ``baseline`` or ``privileged``.
    """
    labels = {"pod-security.kubernetes.io/enforce": pod_security, "pod-security.kubernetes.io/warn": pod_security}
    return manifest("v1", "Namespace", name, labels=labels)
