"""Alerts of the control plane and of container runtimes."""

from __future__ import annotations

from functools import partial

from infra.catalog.alerts.alert import Alert

_Alert = partial(Alert, level="cluster", runbook="cluster/restore_control_plane")
_STATUS = 'increase(kubelet_runtime_operations_{}total{{operation_type="status"}}[<2m>])'

CLUSTER = (
    _Alert(
        "ApiServerDown", "page", hold="1m",
        expr='absent(up{job="apiserver"} == 1)',
        summary="No API server answers",
        description="What runs goes on, but nothing is replaced, placed or changed.",
        drill="stop_api_server", source="kubernetes-mixin, KubeAPIDown",
    ),
    _Alert(
        "EtcdDown", "page", hold="1m",
        expr='absent(up{job="etcd"} == 1) or max(etcd_server_has_leader) == 0',
        summary="etcd does not answer, or has no leader",
        description="The API server can neither read nor write; running engines go on.",
        drill="stop_etcd", source="etcd-mixin, etcdMembersDown and etcdNoLeader",
    ),
    _Alert(
        "DnsDown", "page", hold="1m",
        expr='absent(up{job="coredns"} == 1) or sum(rate(coredns_dns_responses_total{rcode="SERVFAIL"}[<5m>]))'
             " / (sum(rate(coredns_dns_responses_total[<5m>])) > 0) > <failed>",
        limits={"failed": 0.5},
        summary="DNS of the cluster does not answer",
        description="The gateway keeps the replicas it knows, and finds no new ones.",
        drill="stop_dns", source="coredns-mixin, CoreDNSDown; CoreDNSErrorsHigh is sharper, here half of the answers",
    ),
    _Alert(
        "ContainerRuntimeDown", "page", hold="30s",
        # Its error counter is born with its first error, and asking goes on: every question must have failed.
        expr=f"max by (host, pool, leaf) ({_STATUS.format('errors_')}) > 0 and on (host)"
             f" max by (host) ({_STATUS.format('errors_')}) >= on (host) <share> * max by (host)"
             f" ({_STATUS.format('')})",
        limits={"share": 0.9},
        summary="The container runtime of {{ $labels.host }} does not answer",
        description="kubelet cannot start, stop or probe containers there. Those that run go on.",
        drill="restart_containerd", source="kubelet 1.36.3 asks the runtime for its status every 5 s",
    ),
)  # fmt: skip
"""From the API inwards."""
