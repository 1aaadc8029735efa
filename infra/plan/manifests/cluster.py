"""Objects that a cluster needs once, whatever is served on it."""

from __future__ import annotations

from infra.plan.facts import Plan
from infra.plan.manifests import gateway, model
from infra.plan.manifests.base import Manifest, namespace
from infra.plan.manifests.scheduling import priority_classes


def shared(plan: Plan) -> dict[str, Manifest]:
    """All that models and gateway share: namespaces and priority classes."""
    return {**namespaces(plan), **priority_classes()}


def namespaces(plan: Plan) -> dict[str, Manifest]:
    """The namespaces of models and gateway, each with the strictest Pod Security level that it can have."""
    # Volumes from the host and locked memory for RDMA are beyond the baseline level; all else is restricted.
    beyond = any(item.weights_path or item.engine_path or item.model.rdma_devices for item in plan.models)
    level = "privileged" if beyond else "restricted"
    return {
        "namespace-models": namespace(model.NAMESPACE, pod_security=level),
        "namespace-gateway": namespace(gateway.NAMESPACE, pod_security="restricted"),
    }


def callers(plan: Plan) -> list[str]:
    """Namespaces that connect to engines: the gateway's, and that of whoever watches them."""
    return [gateway.NAMESPACE, *([plan.observability.namespace] if plan.observability else [])]
