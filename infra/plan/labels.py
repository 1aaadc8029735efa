"""Labels, taints and resources of a pool's hosts: what GFD, NFD and our own pools put on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from infra.catalog.mig import DISABLED
from infra.plan.facts import PoolPlan
from infra.units import GIB

POOL_LABEL = "railwright.dev/pool"
"""Names the pool of a host; every model selects by it."""
LEAF_LABEL = "railwright.dev/leaf"
"""Names the leaf of a host; hosts with one value are one switch hop apart."""
TENANT = "railwright.dev/tenant"
"""Label and taint of the hosts of a pool that one tenant has for itself."""
_OTHERS = ("kubernetes.io/", "feature.node.kubernetes.io/", "nvidia.com/")
"""Start of labels that kubelet, NFD and GFD set; clouds refuse the first."""
MIG_LABEL = "nvidia.com/mig.config"
"""Tells the MIG manager how to split a host's GPUs. Source: gpu-operator v26.7.0, assets/state-mig-manager."""
OPT_OUT_LABEL = "nvidia.com/gpu.deploy.operands"
"""As ``false`` it keeps all of the GPU Operator off a host. Source: gpu-operator v26.7.0, state_manager.go."""
_OURS = (MIG_LABEL, OPT_OUT_LABEL)
GPU_TAINT = "nvidia.com/gpu"
"""Keeps pods without GPUs off GPU hosts. Source: GPU Operator values, daemonsets.tolerations."""


def host_labels(plan: PoolPlan) -> dict[str, str]:
    """Labels that every host of the pool has.

    Source: GPU feature discovery labels of k8s-device-plugin v0.20.0.
    """
    board, gpu = plan.board, plan.board.gpu
    labels = {
        **plan.pool.labels,
        POOL_LABEL: plan.name,
        "railwright.dev/board": board.name,
        "railwright.dev/fabric": plan.pool.fabric,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": board.arch,
    }
    if plan.pool.tenant:
        labels[TENANT] = plan.pool.tenant
    if gpu is None:
        return labels
    major, minor = gpu.compute_capability.split(".")
    return {
        **labels,
        "feature.node.kubernetes.io/pci-10de.present": "true",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.count": str(board.gpus),
        "nvidia.com/gpu.product": gpu.product,
        "nvidia.com/gpu.memory": str(gpu.memory_smi_mib),
        "nvidia.com/gpu.family": gpu.family,
        "nvidia.com/gpu.compute.major": major,
        "nvidia.com/gpu.compute.minor": minor,
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/mig.strategy": "single",
        **_operated(plan),
    }


def _operated(plan: PoolPlan) -> dict[str, str]:
    """What the GPU Operator is told of a host; nothing where its defaults do."""
    said = plan.pool.gpu_operator
    return {
        **({} if said.operated else {OPT_OUT_LABEL: "false"}),
        **({MIG_LABEL: said.mig} if said.mig != DISABLED else {}),
    }


def own(labels: Mapping[str, str]) -> dict[str, str]:
    """Those that nobody but a host's pool sets; those of kubelet, NFD and GFD would have two owners."""
    return {key: value for key, value in labels.items() if key in _OURS or not key.startswith(_OTHERS)}


def own_labels(plan: PoolPlan) -> dict[str, str]:
    """Labels of a host that nobody but its pool sets."""
    return own(host_labels(plan))


def host_taints(plan: PoolPlan) -> list[dict[str, str]]:
    """Taints of every host of the pool."""
    taints = [{"key": GPU_TAINT, "value": "present", "effect": "NoSchedule"}] if plan.board.gpu else []
    if plan.pool.tenant:
        taints.append({"key": TENANT, "value": plan.pool.tenant, "effect": "NoSchedule"})
    return taints


def tolerations(pools: Iterable[PoolPlan]) -> list[dict[str, str]]:
    """What lets a pod onto the hosts of these pools, whatever keeps others off."""
    taints = {taint["key"]: taint["effect"] for pool in pools for taint in host_taints(pool)}
    return [
        {"key": key, "operator": "Exists", "effect": effect}
        for key, effect in ({GPU_TAINT: "NoSchedule"} | taints).items()
    ]


def of_pools(names: Iterable[str]) -> dict[str, Any]:
    """Node selector of all hosts of some pools."""
    return {"nodeSelectorTerms": [{"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": [*names]}]}]}


def host_resources(plan: PoolPlan) -> dict[str, str]:
    """Allocatable resources of every host of the pool, as Kubernetes quantities."""
    board = plan.board
    resources = {
        "cpu": str(board.cpus),
        "memory": str(board.memory_gib * GIB),
        "ephemeral-storage": str(board.ephemeral_gib * GIB),
        "pods": "110",
    }
    if board.gpu:
        resources["nvidia.com/gpu"] = str(board.gpus)
    return resources | {name: str(amount) for name, amount in plan.rdma_resources.items()}
