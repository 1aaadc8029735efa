"""Metrics of the control plane and of monitoring itself."""

from __future__ import annotations

from infra.catalog.metrics.metric import Exporter

CERTIFICATE_EDGES = (
    *(0.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 345_600.0, 604_800.0),
    *(2_592_000.0, 7_776_000.0, 15_552_000.0, 31_104_000.0),
)
"""Lifetimes that client certificates are counted by (seconds). Source: /metrics of kube-apiserver 1.36.3."""

_APISERVER = Exporter("apiserver", "kube-apiserver 1.36.3, /metrics of the lab")
_ETCD = Exporter("etcd", "etcd 3.6.16, /metrics of the lab")
_DNS = Exporter("coredns", "CoreDNS 1.15.0, plugin/metrics/README.md")
_PROMETHEUS = Exporter("prometheus", "Prometheus 3.13, /metrics of its own; rules/manager.go and notifier/notifier.go")

CONTROL_PLANE = (
    _APISERVER.histogram("apiserver_client_certificate_expiration_seconds", "seconds", CERTIFICATE_EDGES),
    _APISERVER.counter("apiserver_request_total", "requests", "code", "verb", "resource"),
    _ETCD.gauge("etcd_server_has_leader", "bool"),
    _ETCD.gauge("etcd_mvcc_db_total_size_in_bytes", "bytes"),
    _DNS.counter("coredns_dns_responses_total", "responses", "server", "zone", "rcode", late=True),
    _PROMETHEUS.counter("prometheus_rule_evaluation_failures_total", "evaluations", "rule_group"),
    _PROMETHEUS.gauge("prometheus_rule_group_last_duration_seconds", "seconds", "rule_group"),
    _PROMETHEUS.gauge("prometheus_rule_group_interval_seconds", "seconds", "rule_group"),
    _PROMETHEUS.gauge("prometheus_notifications_alertmanagers_discovered", "count"),
    _PROMETHEUS.gauge("prometheus_tsdb_head_series", "series"),
)
"""KWOK 0.8.0 gives nothing of its own; its ``up`` is all that is used."""

EVERYWHERE = (
    Exporter("*", "Prometheus 3.13, scrape/scrape.go: one for each target, whatever it says").gauge("up", "bool"),
    Exporter("*", "Prometheus 3.13, scrape/scrape.go: one for each target, whatever it says").gauge(
        "scrape_duration_seconds", "seconds"
    ),
    Exporter("*", "Prometheus 3.13, rules/alerting.go: one for each alert that is pending or fires").gauge(
        "ALERTS", "1", "alertname", "alertstate", "severity", "level", late=True
    ),
)
"""What Prometheus adds to all of them."""
