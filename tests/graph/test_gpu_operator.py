"""The GPU Operator in the graph: its order, its size, and what is waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.graph.conftest import config_of

Record = Callable[[str, dict[str, Any]], dict[str, Any]]
RELEASE = "gpu-operator-release"


def of(record: Record, stack: str, *, own_drivers: bool = False, hosts: int = 96) -> dict[str, dict[str, Any]]:
    """Resources of a stack by name, each with its hooks; with drivers of pools, the operator owns the driver."""
    config = config_of(stack)
    # How much it has to store is another matter.
    config.pop("railwright:observability", None)
    if own_drivers:
        config["railwright:cluster"]["ownership"] = "baremetal-operator"
        for pool in config["railwright:pools"].values():
            pool["gpu_operator"] = {"driver": {"version": "595.91.07"}}
        config["railwright:pools"]["large"]["hosts"] = hosts
    graph = record(stack, config)
    return {item["name"]: {**item, "hooks": graph["hooks"].get(item["name"], {})} for item in graph["resources"]}


def test_a_custom_resource_never_comes_before_its_kind(record: Record) -> None:
    """pulumi-kubernetes#3247, #1712: on an empty cluster there is no ClusterPolicy to match, so kinds come first."""
    found = of(record, "bare-b300", own_drivers=True)
    kinds = {name for name in found if name.startswith("gpu-operator-kind-")}
    assert {f"gpu-operator-kind-{kind}" for kind in ("clusterpolicies", "nvidiadrivers", "gpuclusters")} <= kinds
    assert kinds <= set(found[RELEASE]["depends_on"])
    assert all(found[kind]["retain_on_delete"] for kind in kinds)
    assert found[RELEASE]["inputs"]["skipCrds"] is True


def test_network_comes_before_driver(record: Record) -> None:
    """A driver that builds against the NICs' must find it."""
    found = of(record, "bare-b300", own_drivers=True)
    assert {"network-pool-large", "network-pool-small", "network-cluster"} <= set(found["gpu-operator"]["depends_on"])


def test_drivers_of_pools_follow_each_other(record: Record) -> None:
    """While the hosts of one pool go, those of the next serve."""
    found = of(record, "bare-b300", own_drivers=True)
    assert RELEASE in found["gpu-operator-driver-large"]["depends_on"]
    assert "gpu-operator-driver-large" in found["gpu-operator-driver-small"]["depends_on"]


def test_gpus_are_waited_for_after_the_last_driver(record: Record) -> None:
    """Before it no host gives out any; a change of the release alone waits for them again."""
    found = of(record, "bare-b300", own_drivers=True)
    waits = {name: found[name]["hooks"].get("after_create", []) for name in found}
    assert waits[RELEASE] == []
    assert waits["gpu-operator-driver-large"] == ["gpu-operator-driver-large"]
    assert waits["gpu-operator-driver-small"] == ["gpu-operator-driver-small", "gpu-operator-gpus"]
    assert found[RELEASE]["hooks"]["after_update"] == ["gpu-operator-gpus"]


@pytest.mark.parametrize("stack", ["bare-b300", "eks-b300"])
def test_a_release_is_not_done_before_gpus_are_there(record: Record, stack: str) -> None:
    """A chart that is deployed says nothing of them; another NFD or operator is looked for before."""
    hooks = of(record, stack)[RELEASE]["hooks"]
    assert hooks == {
        "before_create": ["gpu-operator-one-of-each"],
        "after_create": ["gpu-operator-gpus"],
        "after_update": ["gpu-operator-gpus"],
    }


def test_devices_of_the_fabric_are_waited_for_with_its_last_object(record: Record) -> None:
    """oci-ai-blueprints#91: what waits for the fabric waits for what hosts give out."""
    found = of(record, "bare-b300")
    waiting = [name for name, item in found.items() if item["hooks"].get("after_create") == ["network-devices"]]
    assert len(waiting) == 1
    assert waiting[0] in found["gpu-operator"]["depends_on"]


@pytest.mark.parametrize("stack", ["bare-b300", "eks-b300", "gke-b200"])
def test_models_wait_for_gpus(record: Record, stack: str) -> None:
    """A pod that asks for a GPU which nobody gives out yet would use up its time to start."""
    found = of(record, stack)
    models = [item for name, item in found.items() if item["type"] == "railwright:serving:ModelService"]
    assert models
    assert all(RELEASE in item["depends_on"] for item in models)


def test_the_operator_does_not_grow_with_hosts(record: Record) -> None:
    """A hundred hosts or four thousand: the same objects."""
    kinds = [
        Counter(item["type"] for item in of(record, "bare-b300", own_drivers=True, hosts=hosts).values())
        for hosts in (96, 4000)
    ]
    assert kinds[0] == kinds[1]
    assert kinds[0]["kubernetes:nvidia.com/v1alpha1:NVIDIADriver"] == 2


@pytest.mark.parametrize("stack", ["lab", "coreweave-h100"])
def test_where_the_platform_has_gpus_itself_there_is_no_operator(record: Record, stack: str) -> None:
    """Two of them crash in turns."""
    assert RELEASE not in of(record, stack)


def test_a_release_that_fails_is_taken_back_whole(record: Record) -> None:
    """gpu-operator#383, pulumi-kubernetes#2817: no half of a release that the next update stumbles over."""
    inputs = of(record, "bare-b300")[RELEASE]["inputs"]
    assert (inputs["atomic"], inputs["cleanupOnFail"]) == (True, True)
    assert inputs["timeout"] >= 45 * 60
