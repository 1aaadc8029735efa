"""Hosts carry what the operators would put on them, and what our pools do."""

from __future__ import annotations

import pytest

from infra.plan.labels import host_labels, host_resources, host_taints
from tests.unit.plan.specs import LAB, plan_of


@pytest.mark.parametrize(
    ("board", "product", "memory", "capability"),
    [
        ("hgx-h100", "NVIDIA-H100-80GB-HBM3", "81559", ("9", "0")),
        ("hgx-h200", "NVIDIA-H200", "143771", ("9", "0")),
        ("hgx-b300", "NVIDIA-B300-SXM6-AC", "275040", ("10", "3")),
    ],
    ids=["H100", "H200", "B300"],
)
def test_a_gpu_host_has_the_labels_of_gpu_feature_discovery(
    board: str, product: str, memory: str, capability: tuple[str, str]
) -> None:
    """Selectors that work on the real board work on the simulated one."""
    labels = host_labels(plan_of({"pools/gpus/board": board}).pools[0])
    assert (labels["nvidia.com/gpu.product"], labels["nvidia.com/gpu.memory"]) == (product, memory)
    assert (labels["nvidia.com/gpu.compute.major"], labels["nvidia.com/gpu.compute.minor"]) == capability


def test_labels_of_ones_own_stand_beside_ours() -> None:
    """And never in their place."""
    mine = {"row": "b", "railwright.dev/pool": "other", "nvidia.com/gpu.count": "1"}
    labels = host_labels(plan_of({"pools/gpus/labels": mine}).pools[0])
    assert (labels["row"], labels["railwright.dev/pool"], labels["nvidia.com/gpu.count"]) == ("b", "gpus", "8")


@pytest.mark.parametrize(("fabric", "devices"), [("roce", "8"), ("infiniband", "8"), ("none", None)], ids=str)
def test_rdma_devices_follow_the_fabric(fabric: str, devices: str | None) -> None:
    """One per rail; without a fabric the resource does not exist."""
    assert host_resources(plan_of({"pools/gpus/fabric": fabric}).pools[0]).get("rdma/hca") == devices


def test_a_host_without_gpus_has_no_trace_of_any() -> None:
    """Neither label, taint nor resource."""
    (pool,) = plan_of(base=LAB).pools
    names = [*host_labels(pool), *host_resources(pool)]
    assert [name for name in names if "nvidia" in name or "rdma" in name] == []
    assert host_taints(pool) == []


def test_a_gpu_host_keeps_other_pods_away() -> None:
    """By the taint that the GPU Operator's own pods tolerate."""
    (taint,) = host_taints(plan_of().pools[0])
    assert (taint["key"], taint["effect"]) == ("nvidia.com/gpu", "NoSchedule")
