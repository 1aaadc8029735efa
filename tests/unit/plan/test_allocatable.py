"""What hosts give out is counted host by host, and what is in the way is told by name."""

from __future__ import annotations

from typing import Any

import pytest

from infra.plan.allocatable import MOST_SECONDS, Wanted, lacking, stuck
from infra.plan.fabric.policies import READY_SECONDS
from infra.plan.fabric.readiness import HOST_SECONDS, deadline, wanted
from tests.unit.plan.fabric.stacks import cloud, metal


def hosts(resource: str, *amounts: str) -> list[dict[str, Any]]:
    """Hosts of one pool that give out so much of a resource."""
    meta = {"labels": {"railwright.dev/pool": "gpus"}}
    return [{"metadata": meta, "status": {"allocatable": {resource: amount}}} for amount in amounts]


@pytest.mark.parametrize(
    ("needed", "said"),
    [(2, []), (3, ["pool 'gpus': 2 of 3 hosts give out their 8 nvidia.com/gpu"])],
    ids=["one may be broken", "none may"],
)
def test_gpus_are_there_when_enough_hosts_give_out_all_of_theirs(needed: int, said: list[str]) -> None:
    """Spare hosts may be broken, others may not; half of a host's GPUs do not count."""
    given = hosts("nvidia.com/gpu", "8", "8", "7")
    assert list(lacking(given, [Wanted("gpus", needed, "nvidia.com/gpu", 8)])) == said


def test_pods_of_a_plugin_that_never_start_do_not_read_as_healthy() -> None:
    """aicr#2175, #2176: 0 pods of 0 or of N look fine to who counts pods; hosts give out nothing."""
    given = [{"metadata": {"labels": {"railwright.dev/pool": "gpus"}}, "status": {"allocatable": {"cpu": "8"}}}]
    (told,) = lacking(given, [Wanted("gpus", 1, "nvidia.com/gpu", 8)])
    assert told.startswith("pool 'gpus': 0 of 1 hosts")


def test_an_rdma_pool_with_one_function_missing_is_not_handed_over() -> None:
    """oci-ai-blueprints#91: models wait until every host gives out each rail's functions."""
    needed = wanted(metal("sriov"))
    assert {(want.hosts, want.amount) for want in needed} == {(4, 2)}
    one = needed[0]
    (told,) = lacking(hosts(one.resource, "2", "2", "2", "1"), [one])
    assert told == f"pool 'gpus': 3 of 4 hosts give out their 2 {one.resource}"


def test_every_rail_of_a_pool_is_waited_for() -> None:
    """One that is missing would leave pods waiting on that host."""
    assert len({want.resource for want in wanted(metal("sriov"))}) == 8


def test_a_fabric_that_the_cloud_serves_is_not_waited_for() -> None:
    """Its hosts come with it."""
    assert wanted(cloud("eks", "p5.48xlarge", 32)) == ()


@pytest.mark.parametrize(("mode", "seconds"), [("shared", READY_SECONDS), ("sriov", READY_SECONDS + 4 * HOST_SECONDS)])
def test_hosts_that_start_anew_one_by_one_get_time_for_it(mode: str, seconds: int) -> None:
    """Functions of a NIC come with a restart of its host; shared devices do not."""
    assert deadline(metal(mode)) == seconds
    assert seconds < MOST_SECONDS


def pod(**status: Any) -> dict[str, Any]:
    """A pod of the operator's on a host."""
    return {
        "metadata": {"namespace": "gpu-operator", "name": "nvidia-driver-x"},
        "spec": {"nodeName": "h0"} if status.get("phase") != "Pending" else {},
        "status": status,
    }


PULL = {"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}
INIT = {"initContainerStatuses": [{"state": {"terminated": {"reason": "Completed"}}},
                                  {"state": {"terminated": {"reason": "Error"}}}]}  # fmt: skip
UNPLACED = {
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/4 nodes"}]
}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ({"phase": "Running", **PULL}, ["gpu-operator/nvidia-driver-x on h0: ImagePullBackOff"]),
        ({"phase": "Running", **INIT}, ["gpu-operator/nvidia-driver-x on h0: Error"]),
        ({"phase": "Pending", **UNPLACED}, ["gpu-operator/nvidia-driver-x on no host: 0/4 nodes"]),
        ({"phase": "Pending"}, ["gpu-operator/nvidia-driver-x on no host: Pending"]),
        ({"phase": "Running", **READY}, []),
        ({"phase": "Succeeded"}, []),
    ],
    ids=["image", "init container", "no host", "silent", "ready", "done"],
)
def test_a_pod_in_the_way_is_told_with_namespace_host_and_reason(status: dict[str, Any], said: list[str]) -> None:
    """aicr#1361: a timeout that names none of them sends people looking through the whole cluster."""
    assert list(stuck([pod(**status)])) == said
