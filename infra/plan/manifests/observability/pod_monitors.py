"""What is scraped on the address of a pod, and the labels by which rules and people tell it apart."""

from __future__ import annotations

from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.manifests import gateway, model
from infra.plan.manifests.base import Manifest
from infra.plan.manifests.observability.form import (
    GROUP,
    copied,
    fixed,
    meta,
    selected,
    where,
    without_simulated,
)

_HOST = "__meta_kubernetes_pod_node_name"
_OURS = {"app.kubernetes.io/part-of": "railwright"}

OPERATORS_EXPORTER = {"app": "nvidia-dcgm-exporter"}
"""Labels of the exporter that the GPU Operator runs. Source: GPU Operator 26.7, assets/state-dcgm-exporter."""


def objects(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """One PodMonitor for each job: part → manifest."""
    found = {
        "vllm": _engines(plan, seen),
        "envoy": _monitor(plan, seen, "envoy", gateway.NAMESPACE, _named(gateway.NAME), "stats", "/stats/prometheus"),
    }
    if "dcgm-exporter" in seen.jobs and not plan.target.simulates_gpus:
        found["dcgm-exporter"] = _gpus(plan, seen)
    if seen.installs:
        found |= _ourselves(plan, seen)
    for scrape in plan.target.scrapes:
        if scrape.where == "pods" and scrape.job in seen.jobs and seen.installs:
            labels = dict(scrape.labels)
            found[scrape.job] = _monitor(plan, seen, scrape.job, scrape.namespace, labels, scrape.port, "/metrics")
    return {f"pods-{job}": found[job] for job in found}


def _engines(plan: Plan, seen: ObservabilityPlan) -> Manifest:
    """Engines carry the model's name, so that a replica that says nothing is still known."""
    name = copied("model", meta("pod", "app.kubernetes.io/name"))
    return _monitor(plan, seen, "vllm", model.NAMESPACE, _OURS, "http", "/metrics", name)


def _gpus(plan: Plan, seen: ObservabilityPlan) -> Manifest:
    if seen.config.gpu_exporter == "operator":
        return _monitor(plan, seen, "dcgm-exporter", "gpu-operator", OPERATORS_EXPORTER, 9400, "/metrics")
    return _monitor(plan, seen, "dcgm-exporter", seen.namespace, _named("dcgm-exporter"), "metrics", "/metrics")


def _ourselves(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """What watches is watched."""
    home = seen.namespace
    found = {
        "prometheus": _monitor(plan, seen, "prometheus", home, {"prometheus": "prometheus"}, "web", "/metrics"),
        "alertmanager": _monitor(plan, seen, "alertmanager", home, {"alertmanager": "alertmanager"}, "web", "/metrics"),
        "node-exporter": _monitor(plan, seen, "node-exporter", home, _named("node-exporter"), "metrics", "/metrics"),
        "kube-state-metrics": _objects(plan, seen),
    }
    if "prometheus-operator" in seen.jobs:
        labels = _named("prometheus-operator")
        found["prometheus-operator"] = _monitor(plan, seen, "prometheus-operator", home, labels, "http", "/metrics")
    return found


def _objects(plan: Plan, seen: ObservabilityPlan) -> Manifest:
    """Its series speak of other pods: their labels stand, and its own place is not theirs."""
    labels = _named("kube-state-metrics")
    found = _monitor(plan, seen, "kube-state-metrics", seen.namespace, labels, "metrics", "/metrics")
    (endpoint,) = found["spec"]["podMetricsEndpoints"]
    endpoint["honorLabels"] = True
    endpoint["relabelings"] = [fixed("job", "kube-state-metrics")]
    return found


def _monitor(
    plan: Plan,
    seen: ObservabilityPlan,
    job: str,
    namespace: str,
    labels: dict[str, str],
    port: str | int,
    path: str,
    *more: Manifest,
) -> Manifest:
    relabelings = [*without_simulated(plan.target.simulated_label), fixed("job", job), *where(_HOST), *more]
    endpoint: Manifest = {"portNumber" if isinstance(port, int) else "port": port, "path": path}
    spec = {
        "namespaceSelector": {"matchNames": [namespace]},
        "selector": {"matchLabels": labels},
        # Pool and leaf are labels of the host.
        "attachMetadata": {"node": True},
        "podMetricsEndpoints": [{**endpoint, "relabelings": relabelings}],
    }
    return selected(seen, GROUP, "PodMonitor", job, spec)


def _named(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name}
