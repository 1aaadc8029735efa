"""Metrics of Kubernetes: kubelet, cAdvisor and kube-state-metrics."""

from __future__ import annotations

from infra.catalog.metrics.metric import Exporter

_KUBELET = Exporter("kubelet", "kubelet 1.36.3, /metrics of the lab's host")
_STATE = Exporter("kube-state-metrics", "kube-state-metrics 2.19.1, docs/metrics; honor_labels, its node, pod and "
                  "namespace stay")  # fmt: skip
_CADVISOR = Exporter(
    "cadvisor", "kubelet 1.36.3, /metrics/cadvisor of the lab's host", ("namespace", "pod", "container")
)

KUBERNETES = (
    _KUBELET.counter("kubelet_runtime_operations_total", "calls", "operation_type"),
    _KUBELET.counter("kubelet_runtime_operations_errors_total", "calls", "operation_type", late=True),
    _CADVISOR.counter("container_cpu_usage_seconds_total", "seconds"),
    _CADVISOR.gauge("container_memory_working_set_bytes", "bytes"),
    # Only with --metric-labels-allowlist=nodes=[railwright.dev/pool,railwright.dev/leaf].
    _STATE.gauge("kube_node_labels", "1", "node", "label_railwright_dev_pool", "label_railwright_dev_leaf"),
    _STATE.gauge("kube_node_status_condition", "bool", "node", "condition", "status"),
    _STATE.gauge("kube_node_spec_unschedulable", "bool", "node"),
    _STATE.gauge("kube_deployment_status_replicas_ready", "pods", "namespace", "deployment"),
    _STATE.gauge("kube_pod_created", "time", "namespace", "pod"),
    _STATE.gauge("kube_pod_status_phase", "bool", "namespace", "pod", "phase"),
    _STATE.gauge("kube_pod_container_status_ready", "bool", "namespace", "pod", "container"),
    _STATE.gauge("kube_pod_container_state_started", "time", "namespace", "pod", "container"),
    _STATE.counter("kube_pod_container_status_restarts_total", "events", "namespace", "pod", "container"),
    _STATE.gauge("kube_pod_container_status_waiting_reason", "bool", "namespace", "pod", "container", "reason",
                 late=True),
)  # fmt: skip
"""kube-state-metrics says what the API server holds, so it speaks of simulated hosts too."""
