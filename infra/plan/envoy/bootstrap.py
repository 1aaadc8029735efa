"""The whole document that Envoy starts from; it holds the keys, so it lives in a Secret and in no log."""

from __future__ import annotations

from typing import Any

from infra.plan.envoy.clusters import cluster
from infra.plan.envoy.form import extension, socket
from infra.plan.envoy.listeners import ADMIN_CLUSTER, api_listener, stats_listener
from infra.plan.envoy.shed import switches
from infra.plan.envoy.spec import GatewayRoutes
from infra.plan.envoy.stats import stats_config

CONNECTIONS = 20_000
"""Client connections that one gateway replica holds. Source: our choice; far below its file descriptors."""

_MONITORS = "envoy.extensions.resource_monitors"
_HEAP = "envoy.resource_monitors.fixed_heap"
_OPEN = "envoy.resource_monitors.global_downstream_max_connections"


def render(routes: GatewayRoutes) -> dict[str, Any]:
    """Render the bootstrap of one gateway replica, ready for ``json.dumps``."""
    return {
        "node": {"id": "gateway", "cluster": "gateway"},
        "admin": {"address": socket("127.0.0.1", routes.admin_port)},
        "layered_runtime": switches(),
        "stats_config": stats_config(),
        "overload_manager": _overload(routes),
        "static_resources": {
            "listeners": [api_listener(routes), stats_listener(routes)],
            "clusters": [*[cluster(upstream) for upstream in routes.models], _admin(routes)],
        },
    }


def _admin(routes: GatewayRoutes) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": socket("127.0.0.1", routes.admin_port)}}
    return {
        "name": ADMIN_CLUSTER,
        "type": "STATIC",
        "load_assignment": {"cluster_name": ADMIN_CLUSTER, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }


def _overload(routes: GatewayRoutes) -> dict[str, Any]:
    """Give memory back first, then stop keep-alive, then refuse; running streams go on throughout."""
    heap = extension(_HEAP, f"{_MONITORS}.fixed_heap.v3.FixedHeapConfig", max_heap_size_bytes=routes.max_heap_bytes)
    connections = extension(
        _OPEN,
        f"{_MONITORS}.downstream_connections.v3.DownstreamConnectionsConfig",
        max_active_downstream_connections=CONNECTIONS,
    )
    steps = (("shrink_heap", 0.85), ("disable_http_keepalive", 0.90), ("stop_accepting_requests", 0.95))
    return {
        "refresh_interval": "0.25s",
        "resource_monitors": [heap, connections],
        "actions": [
            {
                "name": f"envoy.overload_actions.{action}",
                "triggers": [{"name": _HEAP, "threshold": {"value": share}}],
            }
            for action, share in steps
        ],
    }
