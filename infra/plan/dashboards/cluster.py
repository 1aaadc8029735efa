"""The cluster at a glance: what fires, what is missing, and whether control plane, gateway and monitoring work."""

from __future__ import annotations

from infra.plan.dashboards.board import POOL, Board, Panel, Query, Row

_IN = '{pool=~"$pool"}'


def _firing(severity: str) -> Query:
    """Count alerts; none is zero only while the alert that always fires says that rules run."""
    alerts = f'ALERTS{{alertstate="firing",severity="{severity}"}}'
    heard = 'count(ALERTS{alertname="Watchdog",alertstate="firing"}) * 0'
    return Query(f"count({alerts}) or {heard}", severity, bad_above=0)


_GPUS = f"plan:hosts:count{_IN} * on (pool) plan:gpus_per_host:count"
_MISSING = (
    "clamp_min(plan:metrics:count - on (metrics, pool, model, job)"
    " (metrics:seen:count or on (metrics, pool, model, job) plan:metrics:count * 0), 0)"
)

NOW = Row("Now", (
    Panel("Pages", "stat", "count", "Alerts that should wake someone.", (_firing("page"),)),
    Panel("Tickets", "stat", "count", "Alerts for working hours.", (_firing("ticket"),)),
    Panel("Hosts not ready", "stat", "count", "Hosts that Kubernetes does not call ready.",
          (Query(f"sum(1 - host:ready:bool{_IN})", "not ready", bad_above=0),)),
    Panel("GPUs missing", "stat", "count", "GPUs that the plan has and that do not report.",
          (Query(f"sum({_GPUS} - on (pool) (pool:gpus_seen:count or plan:hosts:count * 0))", "missing", bad_above=0),)),
    Panel("Replicas missing", "stat", "count", "Replicas that the plan has and Kubernetes does not call ready.",
          (Query(f"sum(model:replicas_missing:count{_IN})", "missing", bad_above=0),)),
    Panel("Reports missing", "stat", "count", "Hosts, targets and engines that should report and do not.",
          (Query(f"sum({_MISSING})", "missing", bad_above=0),)),
))  # fmt: skip

ALERTS = Row("Alerts", (
    Panel("Firing alerts", "table", "count", "How many fire under each name; Watchdog always does.",
          (Query('count by (alertname, severity, level) (ALERTS{alertstate="firing"})', "firing"),),
          by=("alertname", "severity", "level"), span=12),
    Panel("Alerts over time", "states", "bool", "When each alert fired.",
          (Query('max by (alertname) (ALERTS{alertstate="firing",alertname!="Watchdog"})'
                 ' or on () label_replace(max(ALERTS{alertname="Watchdog"}) * 0, "alertname", "none fires", "", "")',
                 "{{alertname}}", bad_above=0),)),
))  # fmt: skip

POOLS = Row("Pools", (
    Panel("Pools", "table", "count", "What the plan has, and what is there of it.",
          (Query(f"plan:hosts:count{_IN}", "hosts planned"),
           Query(f"sum by (pool) (host:ready:bool{_IN})", "hosts ready"),
           Query(f"sum by (pool) (host:cordoned:bool{_IN})", "cordoned", bad_above=0),
           Query(_GPUS, "GPUs planned"),
           Query(f"pool:gpus_seen:count{_IN}", "GPUs seen"),
           Query(f"pool:gpu_use:mean{_IN}", "GPU use", "ratio")),
          by=("pool",)),
    Panel("Hosts ready", "lines", "count", "Per pool, against the plan.",
          (Query(f"sum by (pool) (host:ready:bool{_IN})", "{{pool}}"),
           Query(f"plan:hosts:count{_IN}", "{{pool}}, planned", is_limit=True)), span=12),
    Panel("Replicas missing", "lines", "count", "Per model; a rollout shows for a moment.",
          (Query(f"model:replicas_missing:count{_IN}", "{{model}}", bad_above=0),), span=12),
))  # fmt: skip

GATEWAY = Row("Gateway", (
    Panel("Requests", "lines", "requests/s", "Requests that ended, and those that the gateway itself failed.",
          (Query("gateway:requests:rate", "all"), Query("gateway:own_errors:rate", "failed by the gateway"))),
    Panel("Requests in flight", "lines", "count", "Per gateway pod; must come back to zero when traffic ends.",
          (Query("gateway:in_flight:sum", "{{pod}}"),)),
    Panel("Replicas that the gateway uses", "lines", "count", "Engines that answer its health checks.",
          (Query('min by (model) (envoy_cluster_membership_healthy{model!=""})', "{{model}}"),)),
    Panel("Memory", "lines", "bytes", "Held by each gateway pod.",
          (Query("sum by (pod) (envoy_server_memory_allocated)", "{{pod}}"),)),
    Panel("Retries and failed connections", "lines", "1/s", "Between gateway and engines.",
          (Query("sum(rate(envoy_cluster_upstream_rq_retry[$__rate_interval]))", "retries"),
           Query("sum(rate(envoy_cluster_upstream_cx_connect_fail[$__rate_interval]))", "failed connections"))),
    Panel("Certificate", "lines", "days", "Days until the first certificate of the gateway ends.",
          (Query("min(envoy_server_days_until_first_cert_expiring < 4294967295)", "days left"),)),
))  # fmt: skip

CONTROL_PLANE = Row("Control plane", (
    Panel("Parts that answer", "states", "bool", "Green while Prometheus reaches it; red while it does not.",
          (Query('min by (job) (up{job=~"apiserver|etcd|coredns|kubelet|kube-state-metrics|prometheus-operator"})',
                 "{{job}}", bad_below=1),)),
    Panel("Requests to the API server", "lines", "requests/s", "By code of the answer.",
          (Query("sum by (code) (rate(apiserver_request_total[$__rate_interval]))", "{{code}}"),), span=12),
    Panel("etcd", "lines", "bytes", "Size of its database; full at 2 GiB unless told otherwise.",
          (Query("max(etcd_mvcc_db_total_size_in_bytes)", "database"),)),
    Panel("Names asked for", "lines", "1/s", "Answers of the cluster's DNS by their code.",
          (Query("sum by (rcode) (rate(coredns_dns_responses_total[$__rate_interval]))", "{{rcode}}"),)),
    Panel("Calls of the container runtime", "lines", "1/s", "Calls of each kubelet.",
          (Query("sum by (host) (rate(kubelet_runtime_operations_total[$__rate_interval]))", "{{host}}"),)),
))  # fmt: skip

MONITORING = Row("Monitoring", (
    Panel("Targets that answer", "lines", "count", "Per job.", (Query("sum by (job) (up)", "{{job}}"),)),
    Panel("Time of a scrape", "lines", "seconds", "Slowest target of each job.",
          (Query("max by (job) (scrape_duration_seconds)", "{{job}}"),)),
    Panel("Series", "lines", "count", "Series in memory; each takes a few KiB.",
          (Query("max(prometheus_tsdb_head_series)", "series"),)),
    Panel("Rules", "lines", "seconds", "Time that all rules together take, against the time between two runs.",
          (Query("sum(prometheus_rule_group_last_duration_seconds)", "all rules"),
           Query("min(prometheus_rule_group_interval_seconds)", "interval", is_limit=True))),
    Panel("Rules that fail", "lines", "1/s", "Evaluations that gave an error.",
          (Query("sum(rate(prometheus_rule_evaluation_failures_total[$__rate_interval]))", "failures"),)),
    Panel("Alertmanagers", "lines", "count", "That Prometheus sends alerts to; none hears of alerts at zero.",
          (Query("min(prometheus_notifications_alertmanagers_discovered)", "found"),)),
))  # fmt: skip

CLUSTER = Board("cluster", "Cluster", "What fires, what is missing, and whether the parts around the models work.",
                (POOL,), (NOW, ALERTS, POOLS, GATEWAY, CONTROL_PLANE, MONITORING))  # fmt: skip
"""The first page to open."""
