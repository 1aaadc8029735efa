"""Kubernetes objects of the monitoring, in the order in which they can exist."""

from __future__ import annotations

from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.manifests.base import Manifest, namespace
from infra.plan.manifests.observability import (
    access,
    alertmanager,
    dashboards,
    gpu_exporter,
    host_exporter,
    host_scrapes,
    object_exporter,
    operator,
    pod_monitors,
    prometheus,
    rules,
)
from infra.plan.observability import runs_gpu_exporter


def ground(seen: ObservabilityPlan) -> dict[str, Manifest]:
    """The namespace, where it is ours: part → manifest."""
    # Volumes from the host, which node-exporter reads, are beyond every stricter level.
    return {"namespace": namespace(seen.namespace, pod_security="privileged")} if seen.installs else {}


def programs(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """What runs and who may do what: part → manifest."""
    parts: dict[str, Manifest] = {}
    if seen.installs:
        parts |= access.objects(plan, seen) | host_exporter.objects(plan, seen) | object_exporter.objects(seen)
        if seen.config.operator == "install":
            parts |= operator.objects(seen)
    if runs_gpu_exporter(seen.config, plan.pools):
        parts |= gpu_exporter.objects(plan, seen)
    return parts


def watch(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """What the operator reads, once its definitions exist: part → manifest."""
    parts = pod_monitors.objects(plan, seen) | host_scrapes.objects(plan, seen) | rules.objects(plan, seen)
    if seen.config.dashboards:
        parts |= dashboards.objects(seen)
    if seen.installs:
        parts |= alertmanager.objects(seen) | prometheus.objects(seen)
    return parts
