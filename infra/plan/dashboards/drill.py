"""A drill as it runs: the fault, who notices it, what clients feel of it, and when it is over."""

from __future__ import annotations

from infra.plan.dashboards.board import HOST, MODEL, Board, Panel, Query, Row

_OF = '{model=~"$model"}'
_ROUTED = '{model=~"$model",model!=""}'
_ON = '{host=~"$host"}'
_QUIET = 'label_replace(max(ALERTS{alertname="Watchdog"}) * 0, "alertname", "none fires", "", "")'


def _alerts(severity: str) -> Query:
    fired = f'ALERTS{{alertstate="firing",severity="{severity}",alertname!="Watchdog"}}'
    return Query(f"max by (alertname) ({fired}) or on () {_QUIET}", "{{alertname}}", bad_above=0)


NOTICED = Row("Who notices", (
    Panel("Pages", "states", "bool", "When each alert fired that wakes someone.", (_alerts("page"),)),
    Panel("Tickets", "states", "bool", "When each alert fired for working hours.", (_alerts("ticket"),)),
))  # fmt: skip

CLIENTS = Row("What clients feel", (
    Panel("Requests", "lines", "requests/s", "That ended, and those that the service failed.",
          (Query(f"model:requests:rate{_OF}", "{{model}} ended"),
           Query(f"model:failures:rate{_OF}", "{{model}} failed or cut"))),
    Panel("Errors", "lines", "ratio", "Against the limit of ModelErrorsHigh.",
          (Query(f"model:errors:ratio{_OF}", "{{model}}"),
           Query(f"plan:errors:limit{_OF}", "{{model}}, limit", is_limit=True))),
    Panel("In flight", "lines", "count", "Must come back to zero when traffic ends.",
          (Query("gateway:in_flight:sum", "{{pod}}"),)),
    Panel("First token", "lines", "seconds", "P99 at the gateway, against the promise.",
          (Query(f"model:client_ttft_seconds:p99{_OF}", "{{model}}"),
           Query(f"plan:first_token_seconds:limit{_OF}", "{{model}}, promised", is_limit=True))),
    Panel("Whole answer", "lines", "seconds", "P99 at the gateway, against the promise.",
          (Query(f"model:client_e2e_seconds:p99{_OF}", "{{model}}"),
           Query(f"plan:latency_seconds:limit{_OF}", "{{model}}, promised", is_limit=True))),
    Panel("Waiting", "lines", "count", "Requests without a place in a batch.",
          (Query(f"model:requests_waiting:sum{_OF}", "{{model}}"),)),
))  # fmt: skip

SERVING = Row("What serves", (
    Panel("Replicas ready", "lines", "count", "Against the plan.",
          (Query(f"model:replicas_ready:count{_OF}", "{{model}}"),
           Query(f"plan:replicas:count{_OF}", "{{model}}, planned", is_limit=True))),
    Panel("Engines and gateways", "states", "bool", "Green while Prometheus reaches the pod.",
          (Query('min by (pod) (up{job=~"vllm|envoy"})', "{{pod}}", bad_below=1),), span=16),
    Panel("Engine restarts", "lines", "count", "Since the pod was made.",
          (Query('sum by (pod) (kube_pod_container_status_restarts_total{namespace="models",pod=~"$model-.*"})',
                 "{{pod}}"),)),
    Panel("Replicas that the gateway uses", "lines", "count", "Engines that answer its health checks.",
          (Query(f"min by (model) (envoy_cluster_membership_healthy{_ROUTED})", "{{model}}"),)),
    Panel("Retries and failed connections", "lines", "1/s", "Between gateway and engines.",
          (Query(f"sum(rate(envoy_cluster_upstream_rq_retry{_OF}[$__rate_interval]))", "retries"),
           Query(f"sum(rate(envoy_cluster_upstream_cx_connect_fail{_OF}[$__rate_interval]))", "failed connections"))),
))  # fmt: skip

UNDER = Row("What it stands on", (
    Panel("Hosts", "states", "bool", "Green while Kubernetes calls the host ready.",
          (Query(f"host:ready:bool{_ON}", "{{host}}", bad_below=1),)),
    Panel("Parts that answer", "states", "bool", "Green while Prometheus reaches it.",
          (Query('min by (job) (up{job!~"vllm|envoy"})', "{{job}}", bad_below=1),)),
    Panel("GPUs that report", "lines", "count", "Per host.",
          (Query(f"count by (host) (gpu:temperature_celsius{_ON})", "{{host}}"),)),
    Panel("Links up", "lines", "count", "Per host.", (Query(f"host:nics_up:count{_ON}", "{{host}}"),)),
    Panel("Clock", "lines", "seconds", "Clock of the host less that of Prometheus.",
          (Query(f"host:clock_skew_seconds{_ON}", "{{host}}"),)),
    Panel("Disk free", "lines", "ratio", "Emptiest share of any file system of the host.",
          (Query(f"min by (host) (host:disk_free:ratio{_ON})", "{{host}}"),)),
    Panel("Memory in use", "lines", "ratio", "What cannot be had back without paging.",
          (Query(f"host:memory_used:ratio{_ON}", "{{host}}"),)),
    Panel("Series", "lines", "count", "Series in memory; a gap is a Prometheus that did not run.",
          (Query("max(prometheus_tsdb_head_series)", "series"),)),
))  # fmt: skip

DRILL = Board("drill", "Drill", "The fault, who notices it, what clients feel of it, and when it is over.",
              (MODEL, HOST), (NOTICED, CLIENTS, SERVING, UNDER))  # fmt: skip
"""The page to watch while a drill runs."""
