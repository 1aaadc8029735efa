"""The GPU Operator: what two own or nobody does, and what does not go together, is refused with the fix."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.plan.specs import plan_of

OURS = {"cluster/ownership": "baremetal-operator"}
"""The operator loads the driver."""
DRIVER = "gpu_operator/driver"
POOL = "pools/gpus/gpu_operator"

REFUSED: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "driver named where the hosts own it": (
        {DRIVER: {"version": "595.91.07"}}, "RW-302", "gpu_operator.driver", "has it from the hosts; drop it"),
    "nobody brings the device plugin": (
        {"gpu_operator": {"operator": "none"}}, "RW-302", "gpu_operator.operator", "nobody would; leave it out"),
    "operator on a platform of its own": (
        {"cluster": {"name": "c", "target": "coreweave", "region": "us"}, "gpu_operator": {"operator": "install"},
         "pools": {"gpus": {"board": "hgx-h100", "hosts": 4}}},
        "RW-302", "gpu_operator.operator", "two owners crash in turns"),
    "pool left alone that a model is on": (
        {POOL: {"operated": False}}, "RW-302", "pools.gpus.gpu_operator.operated", "nobody would then give out"),
    "newer Kubernetes than validated": (
        {"cluster/kubernetes": "1.37"}, "RW-302", "cluster.kubernetes", "1.33 to 1.36; run Kubernetes 1.36"),
    "older Kubernetes than validated": (
        {"cluster/kubernetes": "1.32"}, "RW-302", "cluster.kubernetes", "set charts.gpu-operator.version to v26.3.3"),
    "operator of no row": (
        {"charts": {"gpu-operator": {"version": "v24.9.0", "sha256": "a" * 64}}},
        "RW-302", "charts.gpu-operator.version", "cannot tell, 'v24.9.0' has no row"),
    "driver of a branch it does not come with": (
        {**OURS, DRIVER: {"version": "570.211.01"}}, "RW-302", "gpu_operator.driver.version", "set it to 595.91.07"),
    "driver of a pool of a branch that ended": (
        {**OURS, POOL: {"driver": {"version": "590.48.01"}}},
        "RW-302", "pools.gpus.gpu_operator.driver.version", "branches 595, 610, 580, 535"),
    "branch that is not ready made": (
        {**OURS, DRIVER: {"version": "610", "precompiled": True}},
        "RW-302", "gpu_operator.driver.precompiled", "595 and 580 are"),
    "closed modules on Blackwell": (
        {**OURS, "pools/gpus/board": "hgx-b300", DRIVER: {"module": "proprietary"}},
        "RW-302", "gpu_operator.driver.module", "set it to open"),
    "gdrcopy without a driver pod": (
        {"gpu_operator": {"gdrcopy": True}}, "RW-302", "gpu_operator.gdrcopy", "does not have; load it where"),
    "gds with closed modules": (
        {**OURS, "gpu_operator": {"gds": True, "driver": {"module": "proprietary"}}},
        "RW-302", "gpu_operator.gds", "set driver.module to open"),
    "DRA under models that ask for nvidia.com/gpu": (
        {"gpu_operator": {"dra": True}}, "RW-302", "gpu_operator.dra", "does not give out; drop dra"),
    "newer CUDA than the driver runs": (
        {**OURS, "models/chat/cuda": "13.0", DRIVER: {"version": "535.309.01"}},
        "RW-302", "models.chat.cuda", "runs CUDA 12 and older; name a newer driver"),
    "profile of another GPU": (
        {POOL: {"mig": "all-1g.18gb"}, "models": {}}, "RW-301", "pools.gpus.gpu_operator.mig", "did you mean"),
    "split under a model that has whole GPUs": (
        {POOL: {"mig": "all-1g.10gb"}}, "RW-301", "pools.gpus.gpu_operator.mig", "models chat are planned on whole"),
    "exporter of an operator that nobody brings": (
        {"pools/gpus": {"board": "hgx-h100", "hosts": 4},
         "cluster": {"name": "c", "target": "coreweave", "region": "us"},
         "gpu_operator": {"operator": "none"},
         "observability": {"storage": {"size_gib": 100}, "gpu_exporter": "operator"}},
        "RW-301", "observability.gpu_exporter", "set it to install"),
    "upgrade that cuts answers": (
        {"gpu_operator": {"upgrade": {"pod_deadline": "1m"}}},
        "RW-201", "gpu_operator.upgrade.pod_deadline", "leave it out, or raise it"),
}  # fmt: skip

PASSED: dict[str, dict[str, Any]] = {
    "ready made driver": {**OURS, DRIVER: {"version": "595", "precompiled": True}},
    "own driver of a pool": {**OURS, POOL: {"driver": {"version": "580.173.02"}}},
    "CUDA that the driver runs": {**OURS, "models/chat/cuda": "13.0"},
    "modules beside the driver": {**OURS, "gpu_operator": {"gds": True, "gdrcopy": True}},
    "pool that nobody uses left alone": {
        "pools/other": {"board": "hgx-h100", "hosts": 2, "gpu_operator": {"operated": False}}
    },
    "split pool for others": {
        "pools/other": {"board": "hgx-h200", "hosts": 2, "gpu_operator": {"mig": "all-balanced"}}
    },
    "older operator on older Kubernetes": {
        "cluster/kubernetes": "1.32", "charts/gpu-operator": {"version": "v26.3.3"}
    },
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused(case: str) -> None:
    """By id and key, with what to do."""
    change, rule, key, fix = REFUSED[case]
    said = {(item.id, item.key): str(item) for item in plan_of(change).refusals}
    assert fix in said.get((rule, key), ""), said


@pytest.mark.parametrize("case", PASSED)
def test_what_works_is_let_through(case: str) -> None:
    """The nearest case that works."""
    assert [str(item) for item in plan_of(PASSED[case]).refusals] == []


def test_the_dra_stack_needs_a_cluster_that_has_it() -> None:
    """An older Kubernetes is refused for it, beside the operator's own range."""
    change = {**OURS, "models": {}, "gpu_operator": {"dra": True}, "cluster/kubernetes": "1.33"}
    assert [(item.id, item.key) for item in plan_of(change).refusals] == [("RW-302", "gpu_operator.dra")]


def test_a_network_operator_that_is_there_may_have_brought_nfd() -> None:
    """Nobody can tell from here; who says what there is, is believed."""
    there = {"fabric": {"operator": "existing"}}
    assert "gpu_operator.nfd" in [item.key for item in plan_of(there).refusals]
    assert "gpu_operator.nfd" not in [
        item.key for item in plan_of({**there, "gpu_operator": {"nfd": "existing"}}).refusals
    ]
