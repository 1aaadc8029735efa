"""From plain manifest to Pulumi resource: the SDK's own class for each kind that we use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s

from infra import fast_yaml
from infra.plan.manifests.base import Manifest


def create(name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
    """Declare one Kubernetes object.

    Args:
        name: Pulumi's name of the resource; starts with its parent's.
        manifest: the object as plain data.
        opts: carries parent and dependencies.
    """
    fields = {_snake(key): value for key, value in manifest.items() if key not in ("apiVersion", "kind")}
    group, _, version = manifest["apiVersion"].rpartition("/")
    module: Any = getattr(k8s, _MODULES.get(group, ""), None)
    if module is None:
        return k8s.apiextensions.CustomResource(name, manifest["apiVersion"], manifest["kind"], **fields, opts=opts)
    resource: pulumi.CustomResource = getattr(getattr(module, version), manifest["kind"])(name, **fields, opts=opts)
    return resource


_MODULES = {
    "": "core",
    "apps": "apps",
    "batch": "batch",
    "policy": "policy",
    "networking.k8s.io": "networking",
    "node.k8s.io": "node",
    "rbac.authorization.k8s.io": "rbac",
    "scheduling.k8s.io": "scheduling",
}
"""API group → module of the SDK; all others are custom resources. So are definitions of kinds: their class turns over
each of their thousands of fields, for the same resource."""


def _snake(key: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower()


def read(folder: Path) -> Iterator[tuple[str, Manifest]]:
    """Yield the definitions of kinds in a folder, one to a file: name of the file → manifest."""
    for path in sorted(folder.glob("*.yaml")):
        yield path.stem, fast_yaml.load(path.read_bytes())
