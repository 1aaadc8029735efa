"""Two doors: the API, hardened for clients that are not trusted, and a narrow one for probes and Prometheus."""

from __future__ import annotations

from typing import Any

from infra.plan.envoy.access_log import access_log
from infra.plan.envoy.filters import http_filters
from infra.plan.envoy.form import extension, seconds, socket
from infra.plan.envoy.replies import local_replies
from infra.plan.envoy.routes import route_configuration
from infra.plan.envoy.spec import GatewayRoutes
from infra.plan.envoy.stats import stats_logs
from infra.plan.envoy.tls import over_tls
from infra.units import duration

ADMIN_CLUSTER = "admin"
"""Cluster that leads to Envoy's own administration inside the pod."""

STAT_PREFIX = "api"
"""First part of the API listener's metrics, ``http.api.…``."""

_HCM = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
_ROUTER = extension("envoy.filters.http.router", "envoy.extensions.filters.http.router.v3.Router")
_BUFFER_BYTES = 64 * 1024
_REQUEST_TIMEOUT = "120s"
_HEADERS_TIMEOUT = "10s"


def api_listener(routes: GatewayRoutes) -> dict[str, Any]:
    """Open the API; ``INBOUND`` is what the drain closes, so that metrics stay readable to the end."""
    listener = {
        "name": "api",
        "traffic_direction": "INBOUND",
        "address": socket("0.0.0.0", routes.port),
        # Small, so that a slow reader holds back the replica and not our memory; request bodies have their own limit.
        "per_connection_buffer_limit_bytes": _BUFFER_BYTES,
        "filter_chains": [_http(_api(routes))],
    }
    return over_tls(listener, routes.tls) if routes.tls else listener


def stats_listener(routes: GatewayRoutes) -> dict[str, Any]:
    """Show readiness and metrics, and nothing else of the administration."""
    to_admin = {"cluster": ADMIN_CLUSTER}
    get = [{"name": ":method", "string_match": {"exact": "GET"}}]
    table = [{"match": {"path": path, "headers": get}, "route": to_admin} for path in ("/ready", "/stats/prometheus")]
    manager = {
        "stat_prefix": "stats",
        "route_config": {"name": "stats", "virtual_hosts": [{"name": "stats", "domains": ["*"], "routes": table}]},
        "http_filters": [_ROUTER],
    }
    return {
        "name": "stats",
        "address": socket("0.0.0.0", routes.stats_port),
        # A full gateway is still alive and must be seen to be full.
        "bypass_overload_manager": True,
        "ignore_global_conn_limit": True,
        "filter_chains": [_http(manager)],
    }


def _http(manager: dict[str, Any]) -> dict[str, Any]:
    return {"filters": [extension("envoy.filters.network.http_connection_manager", _HCM, **manager)]}


def _api(routes: GatewayRoutes) -> dict[str, Any]:
    return {
        "stat_prefix": STAT_PREFIX,
        "codec_type": "AUTO",
        "server_name": "railwright",
        "use_remote_address": True,
        # Nobody is internal: inside a cluster every client has a private address, and none may set x-envoy headers.
        "internal_address_config": {"cidr_ranges": [{"address_prefix": "255.255.255.255", "prefix_len": 32}]},
        "always_set_request_id_in_response": True,
        "normalize_path": True,
        "merge_slashes": True,
        # Model names hold slashes, and clients escape them.
        "path_with_escaped_slashes_action": "UNESCAPE_AND_FORWARD",
        "common_http_protocol_options": {
            "idle_timeout": "300s",
            "max_headers_count": 100,
            "headers_with_underscores_action": "DROP_HEADER",
        },
        "http2_protocol_options": {
            "max_concurrent_streams": 256,
            "initial_stream_window_size": 64 * 1024,
            "initial_connection_window_size": 1024 * 1024,
        },
        "max_request_headers_kb": 32,
        "request_headers_timeout": _HEADERS_TIMEOUT,
        "request_timeout": _REQUEST_TIMEOUT,
        "stream_idle_timeout": seconds(routes.idle_timeout),
        "access_log": [*access_log(), *stats_logs()],
        "local_reply_config": local_replies(
            limit=routes.max_request_bytes, longest=duration(routes.longest_answer.total_seconds())
        ),
        "route_config": route_configuration(routes),
        "http_filters": http_filters(routes),
    }
