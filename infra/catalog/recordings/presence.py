"""Recordings of what reports at all, to be held against what the plan expects."""

from __future__ import annotations

from infra.catalog.recordings.recording import Recording


def _seen(expr: str, metrics: str) -> str:
    return f'label_replace({expr}, "metrics", "{metrics}", "", "")'


_BY_POOL = (
    _seen("count by (pool) (host:info)", "hosts"),
    _seen("count by (pool) (count by (pool, host) (node_memory_MemTotal_bytes or node_infiniband_state_id))",
          "node-exporter"),
    _seen("count by (pool) (count by (pool, host) (gpu:temperature_celsius))", "dcgm-exporter"),
)  # fmt: skip

PRESENCE = (
    Recording("metrics:seen:count",
              " or ".join([*_BY_POOL,
                           _seen('count by (model) (up{job="vllm"} == 1)', "vllm"),
                           _seen("count by (job) (up == 1)", "up")]),
              "Series, hosts or targets that report, by what they report"),
    Recording("metrics:missing:count",
              "plan:metrics:count - on (metrics, pool, model, job) (metrics:seen:count"
              " or on (metrics, pool, model, job) plan:metrics:count * 0) > 0",
              "What the plan expects and nobody reports"),
)  # fmt: skip
"""Absence is told from the plan: a series that is gone cannot tell of itself."""
