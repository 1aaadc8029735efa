"""One model: what was promised, what clients see, what its engines do, and what they run on."""

from __future__ import annotations

from infra.catalog.recordings.recording import QUANTILES
from infra.plan.dashboards.board import MODEL, Board, Panel, Query, Row

_OF = '{model=~"$model"}'
_ROUTED = '{model=~"$model",model!=""}'
_PODS = '{namespace="models",pod=~"$model-.*"}'
_WINDOWS = ("30m", "1h", "6h")


def quantiles(name: str, limit: str = "") -> tuple[Query, ...]:
    """P50, P95 and P99 of a recorded time, and what was promised for P99."""
    rows = tuple(Query(f"{name}:{operation}{_OF}", f"{{{{model}}}} {operation.upper()}") for operation in QUANTILES)
    return (*rows, Query(f"{limit}{_OF}", "{{model}}, promised", is_limit=True)) if limit else rows


PROMISES = Row("Promises", (
    Panel("Error budget", "table", "ratio", "Part of the budget left at the pace of the last three days, and the share"
          " of bad events; windows at the pace of production.",
          (Query(f"slo:budget_left:ratio{_OF}", "left", bad_below=0),
           Query(f"plan:error_budget:ratio{_OF}", "budget"),
           *(Query(f"slo:errors:ratio_{window}{_OF}", f"bad, {window}") for window in _WINDOWS)),
          by=("model", "slo"), span=12),
    Panel("Burn", "lines", "count", "Times faster than the budget allows, over an hour at the pace of production.",
          (Query(f"slo:errors:ratio_1h{_OF} / on (model, slo) plan:error_budget:ratio", "{{model}} {{slo}}"),),
          span=12),
))  # fmt: skip

CLIENTS = Row("As clients see it", (
    Panel("Requests", "lines", "requests/s", "That ended, that the service failed, and streams that were cut.",
          (Query(f"model:requests:rate{_OF}", "{{model}} ended"),
           Query(f"model:failures:rate{_OF}", "{{model}} failed"),
           Query(f"model:cut:rate{_OF}", "{{model}} cut"))),
    Panel("Errors", "lines", "ratio", "Share of requests that the service failed; nothing while nobody asks.",
          (Query(f"model:errors:ratio{_OF}", "{{model}}"),
           Query(f"plan:errors:limit{_OF}", "{{model}}, limit", is_limit=True))),
    Panel("In flight", "lines", "count", "Requests at the replicas, as the gateway counts them.",
          (Query(f"sum by (model) (envoy_cluster_upstream_rq_active{_ROUTED})", "{{model}}"),)),
    Panel("Whole answer", "lines", "seconds", "From request to last byte, at the gateway.",
          quantiles("model:client_e2e_seconds", "plan:latency_seconds:limit"), span=12),
    Panel("First token", "lines", "seconds", "From request to first token, at the gateway.",
          quantiles("model:client_ttft_seconds", "plan:first_token_seconds:limit"), span=12),
))  # fmt: skip

ENGINES = Row("In the engines", (
    Panel("First token in the engine", "lines", "seconds", "Without gateway and network.",
          quantiles("model:ttft_seconds")),
    Panel("Each further token", "lines", "seconds", "Time per output token.",
          quantiles("model:tpot_seconds", "plan:token_seconds:limit")),
    Panel("Waiting for a place", "lines", "seconds", "Part of the first token's time that is queue.",
          quantiles("model:queue_seconds")),
    Panel("Requests", "lines", "count", "In the batches, and waiting for a place in them.",
          (Query(f"model:requests_running:sum{_OF}", "{{model}} running"),
           Query(f"model:requests_waiting:sum{_OF}", "{{model}} waiting"))),
    Panel("Tokens", "lines", "tokens/s", "Read from prompts and generated.",
          (Query(f"model:prompt_tokens:rate{_OF}", "{{model}} prompt"),
           Query(f"model:generation_tokens:rate{_OF}", "{{model}} generated"))),
    Panel("How answers ended", "lines", "requests/s", "By the engine's reason.",
          (Query(f"sum by (finished_reason) (rate(vllm:request_success_total{_OF}[$__rate_interval]))",
                 "{{finished_reason}}"),)),
    Panel("KV cache", "lines", "ratio", "In use on the fullest replica.",
          (Query(f"model:kv_cache_used:max{_OF}", "{{model}}"),)),
    Panel("Prefix cache", "lines", "ratio", "Prompt tokens that were found in it; nothing while nobody asks.",
          (Query(f"model:prefix_cache_hit:ratio{_OF}", "{{model}}"),)),
    Panel("Pre-emptions", "lines", "1/s", "Requests put back for want of cache.",
          (Query(f"model:preemptions:rate{_OF}", "{{model}}"),)),
))  # fmt: skip

REPLICAS = Row("Replicas", (
    Panel("Replicas ready", "lines", "count", "Against the plan.",
          (Query(f"model:replicas_ready:count{_OF}", "{{model}}"),
           Query(f"plan:replicas:count{_OF}", "{{model}}, planned", is_limit=True))),
    Panel("Engines that answer", "states", "bool", "Green while Prometheus reaches the engine.",
          (Query('min by (pod) (up{job="vllm",model=~"$model"})', "{{pod}}", bad_below=1),), span=16),
    Panel("Restarts", "lines", "count", "Of each engine since its pod was made.",
          (Query(f"sum by (pod) (kube_pod_container_status_restarts_total{_PODS})", "{{pod}}"),)),
    Panel("CPUs", "lines", "count", "In use by each engine, mean of five minutes.",
          (Query('sum by (pod) (rate(container_cpu_usage_seconds_total'
                 '{namespace="models",pod=~"$model-.*",container!=""}[5m]))', "{{pod}}"),)),
    Panel("Memory", "lines", "bytes", "Working set of each engine.",
          (Query('sum by (pod) (container_memory_working_set_bytes'
                 '{namespace="models",pod=~"$model-.*",container!=""})', "{{pod}}"),)),
    Panel("GPU use", "lines", "ratio", "Mean over the GPUs on the hosts of the model.",
          (Query(f"model:gpu_use:ratio{_OF}", "{{model}}"),), span=24,
          needs_hardware="engines on hosts with GPUs; those of a lab run on CPUs"),
))  # fmt: skip

MODELS = Board("model", "Model", "What was promised, what clients see, and what the engines do about it.",
               (MODEL,), (PROMISES, CLIENTS, ENGINES, REPLICAS))  # fmt: skip
"""The page behind every alert of level service."""
