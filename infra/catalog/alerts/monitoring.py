"""Alerts of monitoring itself: without data nothing else would fire."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert

_Alert = partial(Alert, level="monitoring")

MONITORING = (
    _Alert(
        "PrometheusTargetDown", "ticket", hold="5m",
        expr="up == 0",
        summary="{{ $labels.job }} at {{ $labels.instance }} cannot be scraped",
        description="What it measures is not known, and alerts about it cannot fire.",
        runbook="monitoring/restore_target", drill="stop_kubelet", source="kubernetes-mixin, TargetDown, per target",
    ),
    _Alert(
        "MetricsAbsent", "page", hold="10m",
        expr="metrics:missing:count > 0",
        summary="No data: {{ $value }} of {{ $labels.metrics }} missing"
                "{{ with $labels.job }} in job {{ . }}{{ end }}{{ with $labels.pool }} in pool {{ . }}{{ end }}"
                "{{ with $labels.model }} for model {{ . }}{{ end }}",
        description="The plan expects them and nobody reports them. Alerts on them are blind, whatever they show.",
        runbook="monitoring/restore_data", drill="lose_host", source="plan: hosts, replicas and jobs of the stack",
    ),
    _Alert(
        "AlertmanagerDown", "page", hold="2m",
        expr='absent(up{job="alertmanager"} == 1) or max(prometheus_notifications_alertmanagers_discovered) == 0',
        summary="No Alertmanager takes alerts",
        description="Alerts fire and nobody hears of them.",
        runbook="monitoring/restore_target", source="kubernetes-mixin, PrometheusNotConnectedToAlertmanagers",
        no_drill="stop_prometheus takes the same way; an alert about the messenger cannot be seen by its receiver",
    ),
    _Alert(
        "RuleEvaluationFailing", "page", hold="0s",
        expr="sum by (rule_group) (increase(prometheus_rule_evaluation_failures_total[<5m>])) > 0",
        summary="Rules of {{ $labels.rule_group }} fail",
        description="Their alerts cannot fire. The reason is in Prometheus' log and on its page of rules.",
        runbook="monitoring/restore_data", source="prometheus-mixin, PrometheusRuleFailures",
        no_drill="rules that fail are refused before they are loaded; only series of others can break them",
    ),
    _Alert(
        "Watchdog", "info", hold="0s",
        expr="vector(1)",
        summary="Monitoring works",
        description="Fires always. When its receiver hears nothing of it, Prometheus or Alertmanager is down.",
        runbook="monitoring/restore_data", drill="stop_prometheus", source="kube-prometheus, Watchdog",
    ),
)  # fmt: skip
"""From one target to all of it."""
