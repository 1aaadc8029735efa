"""Stack outputs: the contract with whoever reads the stack, versioned."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from infra.catalog.targets import LAB_HOSTS
from infra.plan.facts import ObservabilityPlan, Plan, PoolPlan
from infra.plan.labels import host_labels, host_taints

SCHEMA_VERSION = 2
"""Raised when a reader of the outputs would have to change."""


def outputs(plan: Plan) -> dict[str, Any]:
    """Plain outputs of a stack; nothing in them is secret."""
    return {
        "schema_version": SCHEMA_VERSION,
        "cluster": plan.cluster,
        "target": plan.target.name,
        "ssh_config": plan.ssh_config,
        "pools": {item.name: _pool(item) for item in plan.pools},
        "models": {
            item.name: {"pool": item.pool.name, "replicas": item.model.replicas, "engine": item.model.engine}
            for item in plan.models
        },
        "gateway": {"port": plan.gateway.gateway.port, "node_port": plan.gateway.gateway.node_port},
        "keys": {
            name: {"tenant": key.tenant, "tier": key.tier, "models": sorted(key.models or plan.served)}
            for name, key in plan.gateway.keys.items()
        },
        **({"needs": [asdict(need) for need in plan.needs]} if plan.needs else {}),
        **(_monitoring(plan.observability) if plan.observability else {}),
    }


def _pool(item: PoolPlan) -> dict[str, Any]:
    return {
        "board": item.pool.board,
        "hosts": item.pool.hosts,
        "gpus": item.gpus,
        "fabric": item.pool.fabric,
        **({"mtu": item.pool.network.mtu} if item.pool.network.mtu else {}),
        "role": _role(item),
        "machine": "metal" if item.is_metal else "virtual",
        "labels": host_labels(item),
        "taints": host_taints(item),
        "machines": _machines(item),
    }


def _role(item: PoolPlan) -> str:
    """What its hosts are to those who play on them."""
    if item.simulated:
        return "simulated"
    if item.target.name == "lab":
        return "shared"
    return "gpu" if item.board.gpu else "cpu"


def _machines(item: PoolPlan) -> list[dict[str, Any]]:
    """Hosts by name; none where the cloud makes them, or where they exist in the API only."""
    if item.target.name == "lab" and not item.simulated:
        return [{"name": name} for name in LAB_HOSTS[: item.pool.hosts]]
    return [machine.model_dump(mode="json", exclude_defaults=True) for machine in item.machines]


def _monitoring(seen: ObservabilityPlan) -> dict[str, str]:
    """Where monitoring answers, without trailing slash; nothing is said of an address that nobody gave."""
    if seen.config.existing:
        urls = {
            "prometheus_url": seen.config.existing.prometheus_url,
            "alertmanager_url": seen.config.existing.alertmanager_url,
        }
        return {name: url.rstrip("/") for name, url in urls.items() if url}
    # The generated rules come with them: half a second that an inventory need not wait.
    from infra.plan.manifests.observability import alertmanager, prometheus

    ports = {prometheus.NAME: prometheus.PORT, alertmanager.NAME: alertmanager.PORT}
    return {f"{name}_url": f"http://{name}.{seen.namespace}.svc:{port}" for name, port in ports.items()}
