"""Metrics of vLLM 0.32, as its own source declares them and the lab's engine prints them."""

from __future__ import annotations

from infra.catalog.histograms import EDGES
from infra.catalog.metrics.metric import Exporter

_VLLM = Exporter("vllm", "vllm 0.32.0, v1/metrics/loggers.py; compared with /metrics of the lab's engine",
                 ("model_name", "engine"))  # fmt: skip
_EDGES = EDGES["vllm"]

VLLM = (
    _VLLM.gauge("vllm:num_requests_running", "requests"),
    _VLLM.gauge("vllm:num_requests_waiting", "requests"),
    # "capacity" waits for room, "deferred" for something else (a grammar, a remote cache).
    _VLLM.gauge("vllm:num_requests_waiting_by_reason", "requests", "reason"),
    # A ratio from 0 to 1, in spite of its name.
    _VLLM.gauge("vllm:kv_cache_usage_perc", "ratio"),
    # Tokens, not requests.
    _VLLM.counter("vllm:prefix_cache_queries_total", "tokens"),
    _VLLM.counter("vllm:prefix_cache_hits_total", "tokens"),
    _VLLM.counter("vllm:prompt_tokens_total", "tokens"),
    _VLLM.counter("vllm:generation_tokens_total", "tokens"),
    # Counts every end, aborted and failed ones too; only finished_reason tells.
    _VLLM.counter("vllm:request_success_total", "requests", "finished_reason"),
    _VLLM.counter("vllm:num_preemptions_total", "events"),
    _VLLM.histogram("vllm:time_to_first_token_seconds", "seconds", _EDGES["first_token"]),
    _VLLM.histogram("vllm:request_time_per_output_token_seconds", "seconds", _EDGES["token"]),
    _VLLM.histogram("vllm:e2e_request_latency_seconds", "seconds", _EDGES["latency"]),
    _VLLM.histogram("vllm:request_queue_time_seconds", "seconds", _EDGES["latency"]),
)
"""By order of use. ``time_per_output_token_seconds`` and ``gpu_cache_usage_perc`` are gone since 0.32."""
