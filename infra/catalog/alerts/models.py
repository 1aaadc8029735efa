"""Alerts of models: what clients feel. Limits per model are series of the plan, so a rule serves all models."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert

_Alert = partial(Alert, level="service")
_OURS = "our choice; per model in the config (observability)"

MODELS = (
    _Alert(
        "ModelErrorsHigh", "page", hold="2m",
        # One failed request among few is a large share; it takes more than one to wake someone.
        expr="model:errors:ratio > on (model) group_left () plan:errors:limit"
             " and on (model) model:failures:rate * <5m:s> >= <failures>",
        limits={"failures": 3},
        summary="{{ $labels.model }} fails {{ $value | humanizePercentage }} of its requests",
        description="Clients of {{ $labels.model }} get 5xx or streams without an end. Refusals (4xx) and requests that"
                    " clients gave up do not count.",
        runbook="serving/explain_errors", drill="cut_network",
        source="issue: errors above 1 %, unless the config says otherwise",
    ),
    _Alert(
        "ModelLatencyHigh", "page", hold="2m",
        expr="model:client_e2e_seconds:p99 > on (model) group_left () plan:latency_seconds:limit"
             " and on (model) model:judged:rate * <5m:s> >= <requests>",
        limits={"requests": 10},
        summary="1 of 100 answers of {{ $labels.model }} takes more than {{ $value | humanizeDuration }}",
        description="P99 of whole answers at the gateway. Compare model:e2e_seconds:p99 to tell the engine from the way"
                    " to it.",
        runbook="serving/explain_latency", drill="lose_packets",
        source="issue: P99 above 5 s, unless the config says otherwise",
    ),
    _Alert(
        "ModelFirstTokenSlow", "ticket", hold="5m",
        expr="model:client_ttft_seconds:p99 > on (model) group_left () plan:first_token_seconds:limit"
             " and on (model) model:judged:rate * <5m:s> >= <requests>",
        limits={"requests": 10},
        summary="1 of 100 streams of {{ $labels.model }} waits more than {{ $value | humanizeDuration }} for its"
                " first token",
        description="P99 at the gateway. model:queue_seconds:p99 says how much of it is waiting for a place in"
                    " the batch.",
        runbook="serving/explain_latency", drill="delay_network", source=_OURS,
    ),
    _Alert(
        "ModelTokensSlow", "ticket", hold="5m",
        expr="model:tpot_seconds:p99 > on (model) group_left () plan:token_seconds:limit"
             " and on (model) model:answers:rate * <5m:s> >= <requests>",
        limits={"requests": 10},
        summary="1 of 100 answers of {{ $labels.model }} takes more than {{ $value | humanizeDuration }} per token",
        description="P99 of the mean time per output token of an answer, in the engine.",
        runbook="serving/explain_latency", source=_OURS,
        no_drill="twice the usual load must not slow an engine so far, and no fault of the drills does",
    ),
    _Alert(
        "ModelRequestsWaiting", "ticket", hold="5m",
        expr="model:requests_waiting:sum > on (model) group_left () <each> * plan:replicas:count",
        limits={"each": 10},
        summary="{{ $value }} requests wait for {{ $labels.model }}",
        description="More requests wait than {{ $labels.model }} can start soon: its batches or its KV cache are full.",
        runbook="serving/clear_backlog",
        source="llm-d docs/monitoring waits for 50 per pod; an earlier word costs nothing as it is a ticket",
        no_drill="the lab's engine takes 256 requests at once; its cores are full long before its queue is",
    ),
    _Alert(
        "ModelKvCacheFull", "ticket", hold="5m",
        expr="model:kv_cache_used:max > <full>",
        limits={"full": 0.95},
        summary="KV cache of a replica of {{ $labels.model }} is {{ $value | humanizePercentage }} full",
        description="New requests wait and running ones are put back. Fullest replica; replicas are not averaged.",
        runbook="serving/free_kv_cache", source="llm-d docs/monitoring: decode above 95 % is critical",
        no_drill="the lab's cache holds two million tokens, more than its two cores can fill in an hour",
    ),
    _Alert(
        "ModelPreemptions", "ticket", hold="5m",
        expr="model:preemptions:rate > <per_second>",
        limits={"per_second": 0.1},
        summary="{{ $labels.model }} puts back {{ $value | humanize }} requests per second",
        description="Requests lose their place in the KV cache and are computed again: too many run at once for it.",
        runbook="serving/free_kv_cache",
        source="llm-d docs/monitoring alerts above 1/s per cluster; per model less is normal",
        no_drill="needs a full KV cache, see ModelKvCacheFull",
    ),
    _Alert(
        "ModelSlowAtLowGpuUse", "ticket", hold="10m",
        expr="model:client_ttft_seconds:p95 > on (model) group_left () plan:first_token_seconds:limit"
             " and on (model) model:gpu_use:ratio < <use>",
        limits={"use": 0.3},
        summary="{{ $labels.model }} is slow while its GPUs are idle",
        description="P95 of the first token is {{ $value | humanizeDuration }} at the gateway, and its GPUs work"
                    " less than"
                    " a third of the time: requests wait for something else than GPUs.",
        runbook="serving/use_gpus", source="llm-d docs/monitoring: GPU use below 30 % for 30 minutes", hardware=True,
        no_drill="the lab's engine has no GPUs, and its simulated GPUs have no engine",
    ),
    _Alert(
        "StreamsCut", "ticket", hold="0s",
        expr="model:cut:rate * <5m:s> >= <cut>",
        limits={"cut": 1},
        summary="{{ $value | humanize }} answers of {{ $labels.model }} ended before their end",
        description="Clients got a part of an answer: a replica went away, was silent for too long, or sent no"
                    " last line.",
        runbook="serving/explain_errors", drill="kill_engine_process",
        source="our choice: a roll or a drain must cut none",
    ),
)  # fmt: skip
"""In the order in which one looks at them."""
