"""Recordings per model: what clients see at the gateway, what the engines say, and what it costs."""

from __future__ import annotations

from infra.catalog.recordings.recording import Recording, grown, quantiles, renamed

_READY = renamed('kube_deployment_status_replicas_ready{namespace="models"}', "model", "deployment")
_REQUESTS = '{kind}{{model!="-"}}'


def _ended(kind: str) -> str:
    """Requests of a kind per model within five minutes."""
    return f"sum by (model) ({grown(_REQUESTS.format(kind=f'envoy_railwright_{kind}'), '<5m>')})"


MODEL = (
    # As clients see it.
    Recording("model:requests:rate", f"{_ended('requests')} / <5m:s>", "Requests that ended (1/s)"),
    Recording("model:failures:rate", f"({_ended('errors')} + {_ended('cut')}) / <5m:s>",
              "Requests that the service failed, streams cut included (1/s)"),
    Recording("model:judged:rate",
              f"({_ended('requests')} - {_ended('rejected')} - {_ended('aborted')}) / <5m:s>",
              "Requests less those that were refused or that the client gave up (1/s)"),
    Recording("model:errors:ratio", "model:failures:rate / (model:judged:rate > 0)",
              "Share of requests that the service failed"),
    Recording("model:cut:rate", f"{_ended('cut')} / <5m:s>", "Streams that ended before their end (1/s)"),
    *quantiles("model:client_e2e_seconds", 'envoy_railwright_duration_ms_bucket{model!="-"}', "model",
               "whole answers at the gateway (seconds)", " / 1000"),
    *quantiles("model:client_ttft_seconds", 'envoy_railwright_first_token_ms_bucket{model!="-"}', "model",
               "time to first token at the gateway (seconds)", " / 1000"),
    # As the engines see it.
    *quantiles("model:ttft_seconds", "vllm:time_to_first_token_seconds_bucket", "model",
               "time to first token in the engine (seconds)"),
    *quantiles("model:tpot_seconds", "vllm:request_time_per_output_token_seconds_bucket", "model",
               "time per output token (seconds)"),
    *quantiles("model:e2e_seconds", "vllm:e2e_request_latency_seconds_bucket", "model",
               "whole answers in the engine (seconds)"),
    *quantiles("model:queue_seconds", "vllm:request_queue_time_seconds_bucket", "model",
               "waiting for a place in the batch (seconds)"),
    Recording("model:answers:rate", "sum by (model) (rate(vllm:e2e_request_latency_seconds_count[<5m>]))",
              "Answers that an engine finished (1/s)"),
    Recording("model:requests_running:sum", "sum by (model) (vllm:num_requests_running)", "Requests in the batches"),
    Recording("model:requests_waiting:sum", "sum by (model) (vllm:num_requests_waiting)", "Requests waiting"),
    # Several API servers give a series each, all but one of them zero: the mean would be wrong.
    Recording("model:kv_cache_used:max", "max by (model) (vllm:kv_cache_usage_perc)",
              "KV cache in use on the fullest replica (ratio)"),
    Recording("model:prefix_cache_hit:ratio",
              "sum by (model) (rate(vllm:prefix_cache_hits_total[<5m>]))"
              " / (sum by (model) (rate(vllm:prefix_cache_queries_total[<5m>])) > 0)",
              "Prompt tokens found in the prefix cache (ratio)"),
    Recording("model:preemptions:rate", "sum by (model) (rate(vllm:num_preemptions_total[<5m>]))",
              "Requests put back for want of cache (1/s)"),
    Recording("model:prompt_tokens:rate", "sum by (model) (rate(vllm:prompt_tokens_total[<5m>]))",
              "Prompt tokens (1/s)"),
    Recording("model:generation_tokens:rate", "sum by (model) (rate(vllm:generation_tokens_total[<5m>]))",
              "Tokens generated (1/s)"),
    Recording("model:tokens:rate", "model:prompt_tokens:rate + model:generation_tokens:rate", "All tokens (1/s)"),
    Recording("model:replicas_ready:count", f"max by (model) ({_READY})", "Replicas that Kubernetes calls ready"),
    Recording("model:replicas_missing:count",
              "plan:replicas:count - on (model) group_left () (model:replicas_ready:count or on (model)"
              " plan:replicas:count * 0 and on () count(kube_deployment_status_replicas_ready))",
              "Replicas that the plan has and Kubernetes does not call ready"),
    Recording("model:gpu_use:ratio",
              'avg by (model) ((up{job="vllm"} == 1) * on (host) group_left () avg by (host) (gpu:use:ratio))',
              "Use of the GPUs on the hosts of the model (ratio)"),
)  # fmt: skip
"""Levels of one model; ``-`` is what no model of ours was asked for."""

COST = (
    Recording("model:usd_per_million_tokens:mean",
              "1e6 * plan:usd_per_hour:sum / 3600"
              " / on (model) (avg_over_time(model:tokens:rate[<1h>]) > <idle_tokens_per_s>)",
              "Price of a million tokens over the last hour, none while idle (USD)"),
    Recording("model:idle_usd_per_hour:sum",
              "plan:usd_per_hour:sum unless on (model) avg_over_time(model:tokens:rate[<1h>]) > <idle_tokens_per_s>",
              "What a model costs that is not asked (USD/h)"),
)  # fmt: skip
"""Cost per model. Below the floor a price per token says nothing; what idle hosts cost is told by itself."""
