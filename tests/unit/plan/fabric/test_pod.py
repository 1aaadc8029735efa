"""The pod's side of a fabric: what it asks for, sees and may do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from infra.plan.fabric.pod import GKE_DEVICES, NETWORKS, NO_FABRIC, pod_fabric
from infra.plan.facts import Plan
from infra.plan.manifests.model import objects
from tests.unit.plan.fabric.stacks import EVERY, cloud, metal
from tests.unit.plan.specs import plan_of


def _pod(plan: Plan) -> dict[str, Any]:
    template = objects(plan.models[0], ["gateway"])["deploy"]["spec"]["template"]
    return {**template["spec"], "annotations": template["metadata"]["annotations"]}


def _container(plan: Plan) -> dict[str, Any]:
    (container,) = _pod(plan)["containers"]
    return dict(container)


def _env(plan: Plan) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in _container(plan)["env"]}


RAILS = {f"nvidia.com/rail{k}": "1" for k in range(8)}
"""One device of each rail."""


@pytest.mark.parametrize(
    ("make", "resources"),
    [
        (EVERY["shared roce"], {"rdma/hca": "8"}),
        (EVERY["functions roce"], RAILS),
        (EVERY["whole infiniband"], RAILS),
        (EVERY["efa"], {"vpc.amazonaws.com/efa": "16", "hugepages-2Mi": "5120Mi"}),
        (EVERY["gib"], {}),
        (EVERY["coreweave"], {"rdma/ib": "1"}),
    ],
    ids=["shared", "functions", "whole", "EFA", "gIB", "flag"],
)
def test_a_pod_asks_for_its_devices(make: Callable[[], Plan], resources: Mapping[str, str]) -> None:
    """Requests and limits alike, beside its GPUs."""
    asked = _container(make())["resources"]
    for part in ("requests", "limits"):
        found = {name: amount for name, amount in asked[part].items() if "/" in name or name.startswith("huge")}
        assert found == {"nvidia.com/gpu": "8", **resources}


@pytest.mark.parametrize(
    ("make", "networks"),
    [
        (EVERY["shared roce"], ",".join(f"gpus-rail{k}@rail{k}" for k in range(8))),
        (EVERY["functions infiniband"], ",".join(f"gpus-rail{k}@rail{k}" for k in range(8))),
        (EVERY["shared infiniband without addresses"], None),
        (EVERY["efa"], None),
    ],
    ids=["shared", "functions", "verbs alone", "EFA"],
)
def test_a_pod_has_an_interface_on_each_rail(make: Callable[[], Plan], networks: str | None) -> None:
    """Where the fabric needs one."""
    assert _pod(make())["annotations"].get(NETWORKS) == networks


def test_a_pod_that_stays_on_its_host_has_nothing_of_a_fabric() -> None:
    """No device, interface, right or environment."""
    plan = plan_of()
    assert pod_fabric(plan.pools[0], 0) == NO_FABRIC
    assert NETWORKS not in _pod(plan)["annotations"]
    assert [name for name in _env(plan) if name.startswith("NCCL")] == []


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("shared roce", "NCCL_NET", "IB"),
        ("efa", "FI_PROVIDER", "efa"),
        ("gib", "NCCL_NET", "gIB"),
        ("tcpxo", "NCCL_FASTRAK_CTRL_DEV", "eth0"),
        ("coreweave", "NCCL_IB_HCA", "ibp"),
    ],
)
def test_nccl_is_told_its_way(kind: str, name: str, value: str) -> None:
    """So that it ends instead of going by TCP."""
    assert _env(EVERY[kind]())[name] == value


def test_what_the_user_says_of_the_environment_stands() -> None:
    """Over the catalogue's."""
    plan = plan_of(
        {
            "models/chat/tensor_parallel": 8,
            "models/chat/rdma_devices": 8,
            "models/chat/engine_env": {"NCCL_IB_TC": "96"},
        }
    )
    assert _env(plan)["NCCL_IB_TC"] == "96"


def test_tcpxo_has_a_container_that_receives() -> None:
    """Started before the engine and ended after it, with the devices of the GPUs and two rights."""
    pod = _pod(EVERY["tcpxo"]())
    (receiver,) = pod["initContainers"]
    assert receiver["restartPolicy"] == "Always"
    assert receiver["securityContext"]["capabilities"]["add"] == ["NET_ADMIN", "NET_BIND_SERVICE"]
    assert "/dev/nvidia7" in pod["annotations"][GKE_DEVICES.format(receiver["name"])]
    there = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in receiver["volumeMounts"]} <= there


@pytest.mark.parametrize("kind", ["gib", "tcpxo"])
def test_libraries_of_the_host_are_read_only(kind: str) -> None:
    """And each mount has its volume."""
    pod = _pod(EVERY[kind]())
    (engine,) = pod["containers"]
    folders = {
        volume["name"] for volume in pod["volumes"] if volume.get("hostPath", {}).get("path", "").startswith("/home")
    }
    assert folders
    assert all(mount["readOnly"] for mount in engine["volumeMounts"] if mount["name"] in folders)


@pytest.mark.parametrize(
    ("make", "room"),
    [
        (lambda: metal("sriov", functions=3), 3),
        (lambda: metal("host-device"), 1),
        (metal, 1),
        (lambda: cloud("gke", "a4-highgpu-8g", 8, ("gib",)), 1),
    ],
    ids=["functions", "whole", "shared", "networks"],
)
def test_a_host_has_room_for_as_many_pods_as_its_fabric(make: Callable[[], Plan], room: int) -> None:
    """Whatever its GPUs and memory would let."""
    from infra.plan.fabric.access import room as room_of

    (pool,) = make().pools
    assert room_of(pool, 8) == room
