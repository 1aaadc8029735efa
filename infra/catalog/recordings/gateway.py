"""Recordings of the gateway as a whole, whatever model was asked for."""

from __future__ import annotations

from infra.catalog.recordings.recording import Recording, grown

_OWN = grown('envoy_railwright_responses{code=~"5..",flags!="-"}', "<5m>")

GATEWAY = (
    Recording("gateway:requests:rate", f"sum({grown('envoy_railwright_requests', '<5m>')}) / <5m:s>",
              "Requests that ended, of all models and of none (1/s)"),
    Recording("gateway:own_errors:rate", f"(sum({_OWN}) or sum(gateway:requests:rate) * 0) / <5m:s>",
              "Answers 5xx that no engine wrote (1/s)"),
    Recording("gateway:own_errors:ratio", "gateway:own_errors:rate / (gateway:requests:rate > 0)",
              "Share of requests that the gateway itself failed"),
    Recording("gateway:in_flight:sum",
              'sum by (pod) (envoy_http_downstream_rq_active{envoy_http_conn_manager_prefix="api"})',
              "Requests in flight per gateway pod"),
)  # fmt: skip
"""What the door itself does."""
