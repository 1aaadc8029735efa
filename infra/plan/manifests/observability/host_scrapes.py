"""What is scraped on a host's own address: kubelets, the API server, and parts of the control plane or the lab."""

from __future__ import annotations

from infra.catalog.monitoring import Scrape
from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.manifests.base import Manifest
from infra.plan.manifests.observability.form import copied, fixed, selected, where
from infra.plan.manifests.observability.prometheus import OWN_TOKEN

ALPHA = "monitoring.coreos.com/v1alpha1"
"""API of ScrapeConfig."""

_HOST = "__meta_kubernetes_node_name"

_UNREAD = {
    "cadvisor": "container_(tasks_state|memory_failures_total|blkio_device_usage_total)",
    "apiserver": "(apiserver_(request|response|storage|admission|flowcontrol|watch)|etcd_request|workqueue|rest_client)"
    ".*_bucket",
}
"""Series by job that no rule and no panel reads, and that would be most of what the job has (regular expression)."""


def objects(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """One ScrapeConfig for each job: part → manifest."""
    found: dict[str, Manifest] = {}
    if seen.installs:
        found = {
            "kubelet": _kubelets(plan, seen, "kubelet", "/metrics"),
            "cadvisor": _kubelets(plan, seen, "cadvisor", "/metrics/cadvisor"),
            "apiserver": _api_server(seen),
        }
    for scrape in plan.target.scrapes:
        if scrape.where == "hosts" and scrape.job in seen.jobs and (seen.installs or scrape.honors_labels):
            found[scrape.job] = _part(seen, scrape)
    return {f"hosts-{job}": found[job] for job in found}


def _kubelets(plan: Plan, seen: ObservabilityPlan, job: str, path: str) -> Manifest:
    """Every real host at the port that it says its kubelet has."""
    hosts = f"!{plan.target.simulated_label}" if plan.target.simulated_label else ""
    spec: Manifest = {
        "kubernetesSDConfigs": [_discovery("Node", hosts)],
        "scheme": "HTTPS",
        "scrapeClass": OWN_TOKEN,
        "metricsPath": path,
        "relabelings": [fixed("job", job), *where(_HOST)],
    }
    if not plan.target.kubelet_is_signed:
        spec["tlsConfig"] = {"insecureSkipVerify": True}
    if job in _UNREAD:
        spec["metricRelabelings"] = _without(job)
    return selected(seen, ALPHA, "ScrapeConfig", job, spec)


def _api_server(seen: ObservabilityPlan) -> Manifest:
    """Every API server behind the Service that every cluster has."""
    found = ["__meta_kubernetes_service_name", "__meta_kubernetes_endpointslice_port_name"]
    spec = {
        "kubernetesSDConfigs": [{"role": "EndpointSlice", "namespaces": {"names": ["default"]}}],
        "scheme": "HTTPS",
        "scrapeClass": OWN_TOKEN,
        "tlsConfig": {"serverName": "kubernetes.default.svc"},
        "relabelings": [
            {"sourceLabels": found, "regex": "kubernetes;https", "action": "keep"},
            fixed("job", "apiserver"),
        ],
        "metricRelabelings": _without("apiserver"),
    }
    return selected(seen, ALPHA, "ScrapeConfig", "apiserver", spec)


def _part(seen: ObservabilityPlan, scrape: Scrape) -> Manifest:
    """A part that listens on the address of some hosts at a port of its own."""
    hosts = ",".join(f"{key}={value}" if value else key for key, value in scrape.labels.items())
    address = {
        "sourceLabels": ["__meta_kubernetes_node_address_InternalIP"],
        "targetLabel": "__address__",
        "replacement": f"$1:{scrape.port}",
    }
    labels = [copied("host", _HOST)] if not scrape.honors_labels else []
    spec: Manifest = {
        "kubernetesSDConfigs": [_discovery("Node", hosts)],
        "scrapeInterval": f"{seen.scrape_interval * scrape.every}s",
        "relabelings": [address, fixed("job", scrape.job), *labels],
    }
    if scrape.honors_labels:
        spec["honorLabels"] = True
    return selected(seen, ALPHA, "ScrapeConfig", scrape.job, spec)


def _without(job: str) -> list[Manifest]:
    return [{"sourceLabels": ["__name__"], "regex": _UNREAD[job], "action": "drop"}]


def _discovery(role: str, selector: str) -> Manifest:
    found: Manifest = {"role": role}
    return found | ({"selectors": [{"role": role, "label": selector}]} if selector else {})
