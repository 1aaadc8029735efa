"""Stack outputs: the contract with whoever reads the stack, versioned."""

from __future__ import annotations

from typing import Any

from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.labels import host_labels
from infra.plan.manifests.observability import alertmanager, prometheus

SCHEMA_VERSION = 1
"""Raised when a reader of the outputs would have to change."""


def outputs(plan: Plan) -> dict[str, Any]:
    """Plain outputs of a stack; nothing in them is secret."""
    return {
        "schema_version": SCHEMA_VERSION,
        "cluster": plan.cluster,
        "target": plan.target.name,
        "pools": {
            item.name: {
                "board": item.pool.board,
                "hosts": item.pool.hosts,
                "gpus": item.gpus,
                "fabric": item.pool.fabric,
                "labels": host_labels(item),
            }
            for item in plan.pools
        },
        "models": {
            item.name: {"pool": item.pool.name, "replicas": item.model.replicas, "engine": item.model.engine}
            for item in plan.models
        },
        "gateway": {"port": plan.gateway.gateway.port, "node_port": plan.gateway.gateway.node_port},
        "keys": {
            name: {"tenant": key.tenant, "tier": key.tier, "models": sorted(key.models or plan.served)}
            for name, key in plan.gateway.keys.items()
        },
        **(_monitoring(plan.observability) if plan.observability else {}),
    }


def _monitoring(seen: ObservabilityPlan) -> dict[str, str]:
    """Where monitoring answers, without trailing slash; nothing is said of an address that nobody gave."""
    if seen.config.existing:
        urls = {
            "prometheus_url": seen.config.existing.prometheus_url,
            "alertmanager_url": seen.config.existing.alertmanager_url,
        }
        return {name: url.rstrip("/") for name, url in urls.items() if url}
    ports = {prometheus.NAME: prometheus.PORT, alertmanager.NAME: alertmanager.PORT}
    return {f"{name}_url": f"http://{name}.{seen.namespace}.svc:{port}" for name, port in ports.items()}
