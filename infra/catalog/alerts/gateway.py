"""Alerts of the gateway: the one door to all models."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert

_Alert = partial(Alert, level="service")
_IN = 'namespace="gateway"'
_BAD_CONFIG = (
    "CreateContainerConfigError|CreateContainerError|InvalidImageName|ErrImagePull|ImagePullBackOff|ErrImageNeverPull"
)

GATEWAY = (
    _Alert(
        "GatewayDown", "page", hold="1m",
        expr=f'absent(up{{job="envoy"}} == 1) or'
             f' max(kube_deployment_status_replicas_ready{{{_IN},deployment="gateway"}}) == 0',
        summary="No gateway answers",
        description="No gateway pod is ready, or none can be scraped: clients reach no model.",
        runbook="gateway/recover_gateway", source="our choice: a pod starts within seconds",
        no_drill="the lab has two gateways; kill_gateway_pod proves that one is enough",
    ),
    _Alert(
        "GatewayErrorsHigh", "page", hold="2m",
        expr="gateway:own_errors:ratio > <share> and gateway:own_errors:rate * <5m:s> >= <failures>",
        limits={"share": 0.01, "failures": 3},
        summary="The gateway itself fails {{ $value | humanizePercentage }} of all requests",
        description="5xx that no engine wrote: replicas out of reach, retries used up, too slow, or the gateway"
                    " is full.",
        runbook="gateway/explain_errors", drill="cut_network", source="issue: errors above 1 %",
    ),
    _Alert(
        "GatewayConfigRejected", "page", hold="0s",
        # Envoy ends at once when it cannot read its config; the old pods serve on, the new one never comes up.
        expr=f"max by (pod) (changes(kube_pod_container_status_restarts_total{{{_IN}}}[<15m>])) >= <restarts>"
             f' or max by (pod) (kube_pod_container_status_waiting_reason{{{_IN},reason=~"{_BAD_CONFIG}"}}) == 1',
        limits={"restarts": 2},
        summary="A gateway pod does not come up with its config",
        description="{{ $labels.pod }} ends again and again, or is not created: its last change is not in force.",
        runbook="gateway/recover_gateway", drill="roll_bad_config",
        source="our choice: Envoy restarts once at most by itself",
    ),
    _Alert(
        "GatewayInFlightStuck", "ticket", hold="1m",
        # No request began within the longest that one may take, and some are still said to run.
        expr='gateway:in_flight:sum > 0 and on (pod) up{job="envoy"} offset <longest> unless on (pod)'
             ' sum by (pod)'
             ' (increase(envoy_http_downstream_rq_total{envoy_http_conn_manager_prefix="api"}[<longest>])) > 0',
        summary="{{ $labels.pod }} counts {{ $value }} requests that cannot be there any more",
        description="In-flight counters did not return to zero although nothing was asked within the longest answer;"
                    " a drain of this pod would wait for them.",
        runbook="gateway/recover_gateway", source="plan: longest answer of the gateway",
        no_drill="would need an Envoy that leaks a counter; burst_traffic proves that they return to zero",
    ),
    _Alert(
        "CertificateExpiring", "ticket", hold="0s",
        expr="min by (pod) (envoy_server_days_until_first_cert_expiring) < <days>"
             ' or (sum by (job) (increase(apiserver_client_certificate_expiration_seconds_bucket{job="apiserver",'
             'le=~"604800(\\\\.0)?"}[<15m>])) > 0)',
        limits={"days": 14},
        summary="A certificate ends soon",
        description="{{ if $labels.pod }}The gateway's certificate ends within {{ $value }} days."
                    "{{ else }}Clients of the API server use a certificate that ends within 7 days.{{ end }}",
        runbook="gateway/renew_certificate", drill="expire_certificate",
        source="kubernetes-mixin, KubeClientCertificateExpiration: 7 days; ACME renews 30 days before the end",
    ),
)  # fmt: skip
"""From closed to soon closed."""
