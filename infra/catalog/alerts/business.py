"""Alerts for those who answer for tenants and money."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert

_Alert = partial(Alert, level="business")

BUSINESS = (
    _Alert(
        "TenantErrorsHigh", "ticket", hold="2m",
        expr="tenant:errors:ratio > <share> and on (tenant, tier) tenant:failures:rate * <5m:s> >= <failures>",
        limits={"share": 0.05, "failures": 3},
        summary="Tenant {{ $labels.tenant }} ({{ $labels.tier }}) loses {{ $value | humanizePercentage }} of its"
                " requests",
        description="Failures of ours, over all models it asks for; what was refused to it does not count.",
        runbook="serving/explain_errors", drill="cut_network",
        source="our choice: a tenant's share can be high while a model's is not",
    ),
    _Alert(
        "CostPerMillionTokensHigh", "info", hold="30m",
        expr="model:usd_per_million_tokens:mean > on (model) group_left () plan:usd_per_million_tokens:limit",
        summary="A million tokens of {{ $labels.model }} cost {{ $value | printf \"%.2f\" }} USD",
        description="GPUs per hour over tokens per hour, while it is asked. Too many replicas, or too little batching.",
        runbook="serving/explain_cost", source="config: prices of pools and limits of models",
        no_drill="takes hours of traffic at a steady price",
    ),
    _Alert(
        "TenantsGone", "info", hold="30m",
        expr="cluster:tenants_active_1h:count < <share> * cluster:tenants_active_1h:count offset <1d>"
             " and cluster:tenants_active_1h:count offset <1d> >= 2",
        limits={"share": 0.5},
        summary="{{ $value }} tenants asked within an hour, less than half of yesterday",
        description="Nobody complains who cannot log in: look at keys, DNS and the way to the gateway.",
        runbook="serving/explain_cost", source="our choice: compared with the same hour of the day before",
        no_drill="takes a day of traffic",
    ),
)  # fmt: skip
"""For information, but for tenants that lose requests."""
