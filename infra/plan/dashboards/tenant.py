"""Tenants and cost: who asks how much and how it goes for them, and what a token costs."""

from __future__ import annotations

from infra.plan.dashboards.board import MODEL, TENANT, Board, Panel, Query, Row

_WHO = '{tenant=~"$tenant"}'
_OF = '{model=~"$model"}'

NOW = Row("Now", (
    Panel("Active within an hour", "stat", "count", "Tenants that asked; an hour at the pace of production.",
          (Query("cluster:tenants_active_1h:count", "tenants"),)),
    Panel("Active within a day", "stat", "count", "Tenants that asked; a day at the pace of production.",
          (Query("cluster:tenants_active_1d:count", "tenants"),)),
    Panel("Cost per hour", "stat", "USD", "Of all hosts and GPUs that models hold and that have a price.",
          (Query(f"sum(plan:usd_per_hour:sum{_OF})", "USD per hour"),)),
    Panel("Of it idle", "stat", "USD", "What models cost that nobody asks.",
          (Query(f"sum(model:idle_usd_per_hour:sum{_OF}) or sum(plan:usd_per_hour:sum{_OF}) * 0", "USD per hour"),)),
    Panel("Tokens", "stat", "tokens/s", "All models, prompts and answers.",
          (Query(f"sum(model:tokens:rate{_OF})", "tokens"),)),
    Panel("Requests", "stat", "requests/s", "Of all tenants.",
          (Query(f"sum(tenant:requests:rate{_WHO})", "requests"),)),
))  # fmt: skip

TENANTS = Row("Tenants", (
    Panel("Tenants", "table", "requests/s", "As it is now.",
          (Query(f"tenant:requests:rate{_WHO}", "requests"),
           Query(f"tenant:rejected:rate{_WHO}", "refused"),
           Query(f"tenant:failures:rate{_WHO}", "failed", bad_above=0),
           Query(f"tenant:tokens:rate{_WHO}", "tokens", "tokens/s"),
           Query(f"last_over_time(tenant:client_e2e_seconds:p95{_WHO}[6h])", "last answer P95", "seconds")),
          by=("tenant", "tier")),
    Panel("Requests", "lines", "requests/s", "That ended.",
          (Query(f"tenant:requests:rate{_WHO}", "{{tenant}} ({{tier}})"),)),
    Panel("Refused", "lines", "requests/s", "Answered with 4xx: wrong keys, wrong requests, limits.",
          (Query(f"tenant:rejected:rate{_WHO}", "{{tenant}} ({{tier}})"),)),
    Panel("Failed", "lines", "requests/s", "By the service, streams that were cut included.",
          (Query(f"tenant:failures:rate{_WHO}", "{{tenant}} ({{tier}})"),)),
    Panel("Errors", "lines", "ratio", "Share of requests that the service failed; nothing while nobody asks.",
          (Query(f"tenant:errors:ratio{_WHO}", "{{tenant}} ({{tier}})"),), span=12),
    Panel("Tokens", "lines", "tokens/s", "Of streams whose usage was asked for.",
          (Query(f"tenant:tokens:rate{_WHO}", "{{tenant}} ({{tier}})"),), span=12),
    Panel("Whole answer", "lines", "seconds", "P50 and P99 at the gateway.",
          (Query(f"tenant:client_e2e_seconds:p50{_WHO}", "{{tenant}} P50"),
           Query(f"tenant:client_e2e_seconds:p99{_WHO}", "{{tenant}} P99")), span=12),
    Panel("First token", "lines", "seconds", "P50 and P99 of streams, at the gateway.",
          (Query(f"tenant:client_ttft_seconds:p50{_WHO}", "{{tenant}} P50"),
           Query(f"tenant:client_ttft_seconds:p99{_WHO}", "{{tenant}} P99")), span=12),
))  # fmt: skip

COST = Row("Cost", (
    Panel("Cost of a million tokens", "lines", "USD", "Over the last hour; nothing while a model is idle.",
          (Query(f"model:usd_per_million_tokens:mean{_OF}", "{{model}}"),
           Query(f"plan:usd_per_million_tokens:limit{_OF}", "{{model}}, limit", is_limit=True))),
    Panel("Idle", "lines", "USD", "Per hour, of models that nobody asks.",
          (Query(f"model:idle_usd_per_hour:sum{_OF}", "{{model}}"),)),
    Panel("Tokens per model", "lines", "tokens/s", "Prompts and answers.",
          (Query(f"model:tokens:rate{_OF}", "{{model}}"),)),
    Panel("Models", "table", "USD", "Cost per hour as planned, the part of it that is idle, and cost per token.",
          (Query(f"plan:usd_per_hour:sum{_OF}", "per hour"),
           Query(f"model:idle_usd_per_hour:sum{_OF}", "idle, per hour"),
           Query(f"last_over_time(model:usd_per_million_tokens:mean{_OF}[6h])", "last per million tokens"),
           Query(f"model:tokens:rate{_OF}", "tokens", "tokens/s")),
          by=("model",)),
))  # fmt: skip

TENANTS_AND_COST = Board("tenants", "Tenants and cost", "Who asks how much, how it goes for them, what a token costs.",
                         (TENANT, MODEL), (NOW, TENANTS, COST))  # fmt: skip
"""The page behind every alert of level business."""
