"""One cluster per model: every ready replica, the least busy first, the failing ones left out for a while."""

from __future__ import annotations

from typing import Any

from infra.plan.envoy.form import extension, socket
from infra.plan.envoy.routes import cluster_name
from infra.plan.envoy.spec import Upstream

DNS_REFRESH = "2s"
"""How often the replicas of a model are looked up; with the DNS server's cache this bounds how long a replica that is
leaving still gets requests, so the model's preStop must be longer. Source: our choice, under CoreDNS's 5 s TTL."""

KEEPALIVE = "3s"
"""How long an idle connection to a replica is kept. Source: below uvicorn's 5 s timeout_keep_alive, else a request
meets a connection that is just being closed."""

CONNECT_TIMEOUT = "2s"
"""How long a TCP handshake may take inside one cluster before the next replica is tried. Source: our choice."""

STREAMS = 16_384
"""Requests that one gateway replica may have open at one model. Source: below the 28,232 ephemeral ports of Linux."""


def cluster(upstream: Upstream) -> dict[str, Any]:
    """Describe the replicas of one model."""
    name = cluster_name(upstream.model)
    return {
        "name": name,
        "connect_timeout": CONNECT_TIMEOUT,
        "cluster_type": extension(
            "envoy.clusters.dns",
            "envoy.extensions.clusters.dns.v3.DnsCluster",
            dns_lookup_family="V4_PREFERRED",
            dns_refresh_rate=DNS_REFRESH,
            dns_failure_refresh_rate={"base_interval": "1s", "max_interval": DNS_REFRESH},
        ),
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": socket(upstream.host, upstream.port)}}]}],
        },
        "load_balancing_policy": {"policies": [{"typed_extension_config": _least_request()}]},
        # Only when all are left out are all used again, which is better than refusing everyone.
        "common_lb_config": {"healthy_panic_threshold": {"value": 1.0}},
        "circuit_breakers": {"thresholds": [_thresholds()]},
        "outlier_detection": _outliers(),
        # A host that vanished says nothing; so its streams end after half a minute instead of at their timeout.
        "upstream_connection_options": {
            "tcp_keepalive": {"keepalive_time": 15, "keepalive_interval": 5, "keepalive_probes": 3}
        },
        "typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": _http1()},
    }


def _least_request() -> dict[str, Any]:
    return extension(
        "envoy.load_balancing_policies.least_request",
        "envoy.extensions.load_balancing_policies.least_request.v3.LeastRequest",
        # Drawn by chance on purpose: a full scan would find the dead replica, which has the fewest requests, again at
        # every retry. Three draws keep few replicas even.
        choice_count=3,
    )


def _thresholds() -> dict[str, Any]:
    return {
        "max_connections": STREAMS,
        "max_pending_requests": STREAMS,
        "max_requests": STREAMS,
        "retry_budget": {"budget_percent": {"value": 20.0}, "min_retry_concurrency": 8},
    }


def _outliers() -> dict[str, Any]:
    """Leave out replicas that cannot be reached; an engine's plain 500 may be the request's fault and counts not."""
    return {
        "interval": "2s",
        "base_ejection_time": "10s",
        "max_ejection_time": "60s",
        "max_ejection_percent": 100,
        "enforcing_consecutive_5xx": 0,
        "enforcing_success_rate": 0,
        "consecutive_gateway_failure": 5,
        "enforcing_consecutive_gateway_failure": 100,
        "split_external_local_origin_errors": True,
        "consecutive_local_origin_failure": 3,
        "enforcing_local_origin_success_rate": 0,
    }


def _http1() -> dict[str, Any]:
    return {
        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
        "explicit_http_config": {"http_protocol_options": {}},
        "common_http_protocol_options": {"idle_timeout": KEEPALIVE},
    }
