"""The Network Operator's release: its values, and the namespace it stands in."""

from __future__ import annotations

from typing import Any

from infra.plan.fabric.policies import served
from infra.plan.facts import Plan
from infra.plan.manifests.base import Manifest, namespace

CHART = "network-operator"
"""Name of the chart."""

NAMESPACE = "nvidia-network-operator"
"""Namespace of the operator and of all that it runs. Source: network-operator 26.4.1 example/crs."""

TIMEOUT_SECONDS = 45 * 60
"""Longest wait for the release (seconds): its hook installs the definitions first, then pods pull their images."""


def is_installed(plan: Plan) -> bool:
    """Whether the stack brings the Network Operator."""
    return plan.fabric.operator == "install" and bool(served(plan))


def brings_feature_discovery(plan: Plan) -> bool:
    """Whether the one NFD of the cluster comes with it.

    Policies of NICs go by NFD's labels, and come before the GPU Operator: what is installed first brings NFD.
    """
    return is_installed(plan) and plan.gpu_operator.config.nfd == "install"


def values(plan: Plan) -> dict[str, Any]:
    """Values of the chart that differ from its own."""
    pools = served(plan)
    said: dict[str, Any] = {
        "nfd": {"enabled": brings_feature_discovery(plan), "deployNodeFeatureRules": True},
        "upgradeCRDs": True,
        "sriovNetworkOperator": {"enabled": any(pool.access and pool.access.mode == "sriov" for pool in pools)},
    }
    if plan.fabric.registry:
        said["operator"] = {"repository": plan.fabric.registry}
    return said


def its_namespace() -> Manifest:
    """The namespace, whose pods load drivers and set up NICs."""
    return namespace(NAMESPACE, pod_security="privileged")
