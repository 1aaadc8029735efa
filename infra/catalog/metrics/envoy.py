"""Metrics of the gateway: Envoy's own, and those its access log counts per tenant, tier and model."""

from __future__ import annotations

from infra.catalog.metrics.metric import Exporter

GATEWAY_EDGES_MS = (250.0, 500.0, 1_000.0, 2_500.0, 5_000.0, 10_000.0, 30_000.0, 60_000.0, 120_000.0)
"""Bucket edges of the gateway's own histograms (ms). Source: EDGES_MS of infra/plan/envoy/stats.py; a test compares."""

_ENVOY = Exporter("envoy", "Envoy 1.40.0, /stats/prometheus of the lab's gateway; counters carry no _total")
_OURS = Exporter("envoy", "infra/plan/envoy/stats.py, the stats access log; values of labels come from our config",
                 ("tenant", "tier", "model"))  # fmt: skip

ENVOY = (
    _OURS.counter("envoy_railwright_requests", "requests", late=True),
    _OURS.counter("envoy_railwright_rejected", "requests", late=True),
    _OURS.counter("envoy_railwright_errors", "requests", late=True),
    _OURS.counter("envoy_railwright_cut", "requests", late=True),
    _OURS.counter("envoy_railwright_aborted", "requests", late=True),
    _OURS.counter("envoy_railwright_responses", "requests", "code", "flags", late=True),
    _OURS.histogram("envoy_railwright_duration_ms", "ms", GATEWAY_EDGES_MS, late=True),
    _OURS.histogram("envoy_railwright_first_token_ms", "ms", GATEWAY_EDGES_MS, late=True),
    _OURS.counter("envoy_railwright_prompt_tokens", "tokens", late=True),
    _OURS.counter("envoy_railwright_completion_tokens", "tokens", late=True),
    _OURS.counter("envoy_railwright_metered", "requests", late=True),
    _ENVOY.gauge("envoy_http_downstream_rq_active", "requests", "envoy_http_conn_manager_prefix"),
    _ENVOY.counter("envoy_http_downstream_rq_total", "requests", "envoy_http_conn_manager_prefix"),
    _ENVOY.gauge("envoy_cluster_upstream_rq_active", "requests", "envoy_cluster_name", "model"),
    _ENVOY.gauge("envoy_cluster_membership_healthy", "replicas", "envoy_cluster_name", "model"),
    _ENVOY.gauge("envoy_cluster_membership_total", "replicas", "envoy_cluster_name", "model"),
    _ENVOY.counter("envoy_cluster_upstream_rq_retry", "requests", "envoy_cluster_name", "model"),
    _ENVOY.counter("envoy_cluster_upstream_cx_connect_fail", "connections", "envoy_cluster_name", "model"),
    _ENVOY.gauge("envoy_server_live", "bool"),
    _ENVOY.gauge("envoy_server_memory_allocated", "bytes"),
    # 4294967295 where no certificate is configured.
    _ENVOY.gauge("envoy_server_days_until_first_cert_expiring", "days"),
)
"""Times are ms, as all times of Envoy."""
