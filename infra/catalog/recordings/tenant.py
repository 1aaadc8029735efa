"""Recordings per tenant; its values come from the keys in the config, so they are few and known."""

from __future__ import annotations

from infra.catalog.recordings.recording import Recording, grown, quantiles


def _ended(kind: str) -> str:
    known = f'envoy_railwright_{kind}{{tenant!="-"}}'
    return f"sum by (tenant, tier) ({grown(known, '<5m>')})"


# Time per token is told per model only: the gateway counts no tokens within a stream, so it has no quantiles, and it
# knows the length of an answer only where usage was asked for. Tenants of a model share its batches, and so its pace.
TENANT = (
    Recording("tenant:requests:rate", f"{_ended('requests')} / <5m:s>", "Requests that ended (1/s)"),
    Recording("tenant:rejected:rate", f"{_ended('rejected')} / <5m:s>", "Requests refused with 4xx (1/s)"),
    Recording("tenant:failures:rate", f"({_ended('errors')} + {_ended('cut')}) / <5m:s>",
              "Requests that the service failed, streams cut included (1/s)"),
    Recording("tenant:errors:ratio",
              f"tenant:failures:rate / (({_ended('requests')} - {_ended('rejected')} - {_ended('aborted')})"
              " / <5m:s> > 0)",
              "Share of requests that the service failed"),
    *quantiles("tenant:client_e2e_seconds", 'envoy_railwright_duration_ms_bucket{tenant!="-"}', "tenant, tier",
               "whole answers at the gateway (seconds)", " / 1000"),
    *quantiles("tenant:client_ttft_seconds", 'envoy_railwright_first_token_ms_bucket{tenant!="-"}', "tenant, tier",
               "time to first token at the gateway (seconds)", " / 1000"),
    Recording("tenant:tokens:rate",
              'sum by (tenant, tier) (rate(envoy_railwright_prompt_tokens{tenant!="-"}[<5m>])'
              ' + rate(envoy_railwright_completion_tokens{tenant!="-"}[<5m>]))',
              "Tokens of streams whose usage was asked for (1/s)"),
    Recording("cluster:tenants_active_1h:count",
              "count(max by (tenant) (max_over_time(tenant:requests:rate[<1h>])) > 0) or vector(0)",
              "Tenants that asked within an hour"),
    Recording("cluster:tenants_active_1d:count",
              "count(max by (tenant) (max_over_time(tenant:requests:rate[<1d>])) > 0) or vector(0)",
              "Tenants that asked within a day"),
)  # fmt: skip
"""Levels of one tenant, and how many of them there are; no series per user anywhere."""
