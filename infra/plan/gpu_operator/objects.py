"""Objects beside the GPU Operator's release: its namespace, counters of the exporter, and a driver for each pool."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from infra.config.gpu_operator import Driver
from infra.plan.facts import Plan, PoolPlan
from infra.plan.gpu_operator.values import (
    METRICS,
    NAME,
    NVIDIA_REGISTRY,
    driver_of,
    has_own_drivers,
    operated,
    rdma,
    row_of,
    upgrade_policy,
    version_of,
)
from infra.plan.labels import POOL_LABEL, tolerations
from infra.plan.manifests.base import Manifest, manifest, namespace
from infra.plan.manifests.observability.gpu_exporter import counters

DIGEST = "railwright.dev/driver-digest"
"""Annotation of a driver's pods by which it is told whether they are of the newest spec."""

COUNTERS = "dcgm-metrics.csv"
"""Key of the exporter's counters. Source: values.yaml of v26.7.0, dcgmExporter.config."""

QUOTA_PODS = "8000"
"""Pods of system priority in the namespace at most (count); GKE lets such pods in only where a quota names them.
Source: aicr v0.11.1, manifests/gke-resource-quota.yaml; the number is ours."""


def ground(plan: Plan) -> dict[str, Manifest]:
    """What must be there before the release: part → manifest."""
    parts = {"namespace": namespace(NAME, pod_security="privileged")}
    if plan.target.name == "gke":
        parts["quota"] = manifest("v1", "ResourceQuota", "system-priority", NAME, spec=_quota())
    if plan.observability and plan.observability.config.gpu_exporter == "operator":
        parts["counters"] = manifest("v1", "ConfigMap", METRICS, NAME, data={COUNTERS: counters()})
    return parts


def drivers(plan: Plan) -> dict[str, Manifest]:
    """A driver for each pool that the operator loads one on, in the order of pools: pool → manifest."""
    if not has_own_drivers(plan):
        return {}
    return {pool.name: _driver(plan, pool) for pool in operated(plan)}


def _driver(plan: Plan, pool: PoolPlan) -> Manifest:
    spec = _spec(plan, pool, driver_of(plan, pool))
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
    marked = {**spec, "labels": {POOL_LABEL: pool.name}, "annotations": {DIGEST: digest}}
    return manifest("nvidia.com/v1alpha1", "NVIDIADriver", pool.name, spec=marked)


def _spec(plan: Plan, pool: PoolPlan, driver: Driver) -> dict[str, Any]:
    said = plan.gpu_operator.config
    registry = said.registry or NVIDIA_REGISTRY
    return {
        "driverType": "gpu",
        "repository": registry,
        "image": "driver",
        "version": version_of(plan, driver),
        "usePrecompiled": driver.precompiled,
        "kernelModuleType": driver.module,
        "nodeSelector": {POOL_LABEL: pool.name},
        "tolerations": tolerations([pool]),
        "priorityClassName": "system-node-critical",
        # A compile takes a quarter of an hour. Source: values.yaml of v26.7.0, driver.startupProbe.
        "startupProbe": {"initialDelaySeconds": 60, "periodSeconds": 10, "timeoutSeconds": 60, "failureThreshold": 120},
        "rdma": rdma(plan),
        **_newer(plan),
        **_modules(plan, registry),
    }


def _newer(plan: Plan) -> dict[str, Any]:
    """Fields that older kinds do not have; there the chart's policy holds for all."""
    row = row_of(plan)
    if row is None or row.dra_kubernetes is None:
        return {}
    return {"default": False, "upgradePolicy": upgrade_policy(plan, "podDeletion")}


def _modules(plan: Plan, registry: str) -> dict[str, Any]:
    said, row = plan.gpu_operator.config, row_of(plan)
    if row is None:
        return {}
    wanted = {"gdrcopy": (said.gdrcopy, "gdrdrv", row.gdrcopy), "gds": (said.gds, "nvidia-fs", row.gds)}
    return {
        name: {"enabled": True, "repository": f"{registry}/cloud-native", "image": image, "version": version}
        for name, (enabled, image, version) in wanted.items()
        if enabled
    }


def _quota() -> dict[str, Any]:
    classes = ["system-node-critical", "system-cluster-critical"]
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": classes}
    return {"hard": {"pods": QUOTA_PODS}, "scopeSelector": {"matchExpressions": [scope]}}
