"""Node Feature Discovery: the one that labels hosts, whoever brings it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from infra.plan.fabric.release import NAMESPACE as NETWORK_NAMESPACE
from infra.plan.fabric.release import brings_feature_discovery
from infra.plan.facts import Plan, Refusal

Bringer = Literal["network-operator", "gpu-operator", "existing"]

LABEL = {"app.kubernetes.io/name": "node-feature-discovery"}
"""Labels of NFD's workers, whichever chart brought them. Source: node-feature-discovery 0.19.0, _helpers.tpl."""

NAME = "gpu-operator"
"""Release and namespace of the GPU Operator that is ours."""

RELEASED_AS = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
"""Annotations by which Helm knows what it made. Source: Helm, pkg/action/validate.go."""

NAMESPACES = {NAME: NAME, "network-operator": NETWORK_NAMESPACE}
"""Where each operator has its own."""


def bringer(plan: Plan) -> Bringer:
    """Who brings it: the first operator that this stack installs, unless one is there."""
    if plan.gpu_operator.config.nfd == "existing" or plan.target.simulates_gpus:
        return "existing"
    return "network-operator" if brings_feature_discovery(plan) else "gpu-operator"


def other_operator(policy: Mapping[str, Any] | None) -> Refusal | None:
    """Refuse a GPU Operator that is there and not ours: two would own one driver; None when there is none.

    Args:
        policy: the cluster's ClusterPolicy, of which there can be one only.
    """
    notes = policy["metadata"].get("annotations", {}) if policy else {}
    if policy is None or tuple(notes.get(key) for key in RELEASED_AS) == (NAME, NAME):
        return None
    found = f"install, and ClusterPolicy {policy['metadata']['name']!r} of another GPU Operator is there"
    return Refusal("RW-501", "gpu_operator.operator", found, "set it to existing, or remove that one first")


def second(plan: Plan, sets: Iterable[Mapping[str, Any]]) -> Refusal | None:
    """Refuse another NFD beside the one that this stack brings; None when there is none.

    Args:
        sets: DaemonSets of the cluster that carry NFD's label.
    """
    if (who := bringer(plan)) == "existing":
        return None
    there = [item["metadata"] for item in sets if item["metadata"]["namespace"] != NAMESPACES[who]]
    if not there:
        return None
    names = ", ".join(f"{item['namespace']}/{item['name']}" for item in there)
    found = f"install, and {names} is there: two would write the labels of one host"
    return Refusal("RW-501", "gpu_operator.nfd", found, "set it to existing, or remove that one first")
