"""Values of the GPU Operator's chart: from who owns what, the fabric, the pools, and what the spec says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.catalog.compat import GPU_OPERATORS, GpuOperatorRow
from infra.catalog.mig import DISABLED
from infra.config.gpu_operator import Driver
from infra.plan.charts import chart_of
from infra.plan.facts import Plan, PoolPlan
from infra.plan.gpu_operator.discovery import bringer
from infra.plan.labels import POOL_LABEL, tolerations

Values = dict[str, Any]

NAME = "gpu-operator"
"""Name of chart, release and namespace. Source: NVIDIA's installation guide."""

DEFINITIONS = "v26.7.0"
"""Version of the kinds in ``infra/components/crds/gpu-operator``."""

NVIDIA_REGISTRY = "nvcr.io/nvidia"
"""Where the chart's images are published. Source: values.yaml of v26.7.0."""

METRICS = "railwright-dcgm-metrics"
"""ConfigMap of the exporter's counters."""

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
"""Label and taint of the hosts of a control plane. Source: kubeadm."""

MINUTE = 60
"""Seconds."""

_REPOSITORIES: Mapping[str, tuple[str, ...]] = {
    "": ("validator", "operator", "driver", "devicePlugin", "gfd", "nodeStatusExporter"),
    "/k8s": ("toolkit", "dcgmExporter"),
    "/cloud-native": ("dcgm", "migManager", "gds", "gdrcopy", "vgpuDeviceManager", "vfioManager", "ccManager"),
}
"""Folder of a registry to the parts whose images lie in it. Source: values.yaml of v26.7.0."""


def row_of(plan: Plan) -> GpuOperatorRow | None:
    """What we know of the chart's version."""
    return GPU_OPERATORS.get(chart_of(plan, NAME).version)


def brings_definitions(plan: Plan) -> bool:
    """Whether this stack brings the kinds itself, so that they are there before anything is of them; else Helm does."""
    return chart_of(plan, NAME).version == DEFINITIONS


def operated(plan: Plan) -> tuple[PoolPlan, ...]:
    """Pools on whose hosts the operator puts something."""
    return tuple(pool for pool in plan.pools if pool.board.gpu and pool.pool.gpu_operator.operated)


def loads_driver(plan: Plan) -> bool:
    """Whether the operator loads the driver."""
    return plan.ownership.driver == "operator"


def driver_of(plan: Plan, pool: PoolPlan | None = None) -> Driver:
    """The driver of a pool, or the one of all others."""
    return (pool.pool.gpu_operator.driver if pool else None) or plan.gpu_operator.config.driver


def version_of(plan: Plan, driver: Driver) -> str:
    """Its version; empty when the chart's version is not one that we know."""
    row = row_of(plan)
    return driver.version or (row.drivers[0] if row else "")


def has_own_drivers(plan: Plan) -> bool:
    """Whether drivers come as one object for each pool, as pools that differ and the DRA stack need."""
    return loads_driver(plan) and (
        plan.gpu_operator.config.dra or any(pool.pool.gpu_operator.driver for pool in operated(plan))
    )


def values(plan: Plan) -> Values:
    """All values that are set; what is left out is the chart's own."""
    said, owner = plan.gpu_operator.config, plan.ownership
    made: Values = {
        "nfd": {"enabled": bringer(plan) == "gpu-operator"},
        "cdi": {"enabled": said.cdi, "nriPluginEnabled": said.nri},
        "operator": _operator(plan),
        "daemonsets": {"tolerations": tolerations(operated(plan))},
        "driver": _driver(plan),
        "toolkit": {"enabled": owner.toolkit == "operator"},
        "devicePlugin": {"enabled": owner.device_plugin == "operator"},
        "gdrcopy": {"enabled": said.gdrcopy},
        "gds": {"enabled": said.gds},
        "migManager": {"enabled": any(pool.pool.gpu_operator.mig != DISABLED for pool in operated(plan))},
        "dcgmExporter": _exporter(plan),
    }
    if made["nfd"]["enabled"]:
        made["node-feature-discovery"] = {"worker": {"tolerations": [*_control_plane(), *tolerations(plan.pools)]}}
    for layer in (_one_of_two(plan), _registry(said.registry), owner.values):
        made = merged(made, layer)
    return made


def _one_of_two(plan: Plan) -> Values:
    """The object that says what is wanted: of the two kinds exactly one; older versions know one only."""
    row, dra = row_of(plan), plan.gpu_operator.config.dra
    if row and row.dra_kubernetes is None:
        return {}
    spans = any(_spans_hosts(pool) for pool in operated(plan))
    domains: Values = {"draDriver": {"computeDomains": {"enabled": spans}}} if dra else {}
    if dra and plan.gpu_operator.config.registry:
        domains["draDriver"]["repository"] = plan.gpu_operator.config.registry
    return {"clusterPolicy": {"deployCR": not dra}, "gpuCluster": {"deployCR": dra}, **domains}


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> Values:
    """Two layers of values, of which the second wins, as Helm puts them together."""
    both = {key for key in low if isinstance(low[key], Mapping) and isinstance(high.get(key), Mapping)}
    return {**low, **high, **{key: merged(low[key], high[key]) for key in both}}


def _spans_hosts(pool: PoolPlan) -> bool:
    """Whether NVLink goes beyond one host; only there a compute domain can start."""
    return pool.board.gpu is not None and pool.board.gpu.nvlink_domain > pool.board.gpus


def _control_plane() -> list[dict[str, str]]:
    return [{"key": CONTROL_PLANE, "operator": "Equal", "value": "", "effect": "NoSchedule"}]


def _operator(plan: Plan) -> Values:
    """Its own pod: on a host that it does not work on it would be in the way, and away when that host goes."""
    out = sorted(pool.name for pool in plan.pools if not pool.pool.gpu_operator.operated)
    prefer = {"weight": 1, "preference": {"matchExpressions": [{"key": CONTROL_PLANE, "operator": "Exists"}]}}
    affinity: Values = {"preferredDuringSchedulingIgnoredDuringExecution": [prefer]}
    if out:
        away = {"matchExpressions": [{"key": POOL_LABEL, "operator": "NotIn", "values": out}]}
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [away]}
    runtime = {"runtimeClass": plan.ownership.runtime_class} if plan.ownership.runtime_class else {}
    # 350Mi is too little on clusters of hundreds of hosts. Source: aicr v0.11.1, gpu-operator values.
    resources = {"limits": {"cpu": "500m", "memory": "1Gi"}, "requests": {"cpu": "200m", "memory": "200Mi"}}
    return {
        "affinity": {"nodeAffinity": affinity},
        "resources": resources,
        "upgradeCRD": not brings_definitions(plan),
        **runtime,
    }


def _driver(plan: Plan) -> Values:
    said = plan.gpu_operator.config
    if not loads_driver(plan):
        return {"enabled": False}
    own = has_own_drivers(plan)
    return {
        "enabled": True,
        "nvidiaDriverCRD": {"enabled": own, "deployDefaultCR": False},
        "version": version_of(plan, said.driver),
        "usePrecompiled": said.driver.precompiled,
        "kernelModuleType": said.driver.module,
        "rdma": rdma(plan),
        "upgradePolicy": upgrade_policy(plan, "gpuPodDeletion"),
    }


def rdma(plan: Plan) -> Values:
    """Whether the driver loads nvidia-peermem, and against whose OFED it builds it."""
    fabric = any(pool.pool.fabric in ("roce", "infiniband") for pool in operated(plan))
    enabled = plan.ownership.peermem and fabric
    return {"enabled": enabled, "useHostMofed": enabled and plan.ownership.ofed in ("hosts", "image")}


def upgrade_policy(plan: Plan, deletion: str) -> Values:
    """How the operator takes hosts from one driver to the next.

    Args:
        deletion: key under which pods with GPUs are spoken of; chart and CRD name it differently.
    """
    said = plan.gpu_operator.config.upgrade
    seconds = pod_deadline(plan)
    return {
        "autoUpgrade": said.automatic,
        "maxParallelUpgrades": said.parallel,
        "maxUnavailable": said.unavailable if said.unavailable.endswith("%") else int(said.unavailable),
        "waitForCompletion": {"timeoutSeconds": 0, "podSelector": said.wait_for_pods},
        deletion: {"force": False, "timeoutSeconds": seconds, "deleteEmptyDir": True},
        "drain": {"enable": said.drain, "force": False, "timeoutSeconds": seconds, "deleteEmptyDir": True},
    }


def pod_deadline(plan: Plan) -> int:
    """Longest wait for a pod with GPUs to go (seconds)."""
    said = plan.gpu_operator.config.upgrade.pod_deadline
    return round(said.total_seconds()) if said else longest_grace(plan) + MINUTE


def longest_grace(plan: Plan) -> int:
    """Longest grace of an engine on hosts that the operator works on, or what the chart allows (seconds)."""
    on = {pool.name for pool in operated(plan)}
    return max([4 * MINUTE, *(model.shutdown.grace for model in plan.models if model.pool.name in on)])


def _exporter(plan: Plan) -> Values:
    """The operator's exporter with our counters; off where this stack runs one, as two would count twice."""
    seen = plan.observability
    if seen is None or seen.config.gpu_exporter != "operator":
        return {"enabled": False, "serviceMonitor": {"enabled": False}}
    return {
        "enabled": True,
        "config": {"name": METRICS, "create": False},
        # Our PodMonitor reads it: of a ServiceMonitor nvidia-dcgm-exporter the operator is the only owner.
        "serviceMonitor": {"enabled": False},
    }


def _registry(mirror: str | None) -> Values:
    if mirror is None:
        return {}
    said: Values = {part: {"repository": f"{mirror}{path}"} for path, parts in _REPOSITORIES.items() for part in parts}
    return merged(said, {"driver": {"manager": {"repository": f"{mirror}/cloud-native"}}})
