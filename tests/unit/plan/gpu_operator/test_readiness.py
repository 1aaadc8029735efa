"""Ready is what gives out GPUs, not what was deployed."""

from __future__ import annotations

from typing import Any

import pytest

from infra.plan.gpu_operator.discovery import second
from infra.plan.gpu_operator.objects import DIGEST
from infra.plan.gpu_operator.readiness import (
    LEAST_SECONDS,
    MOST_SECONDS,
    Wanted,
    deadline,
    lacking_driver,
    lacking_gpus,
    lacking_policy,
    wanted,
)
from tests.unit.plan.specs import plan_of


def policy(status: str, reason: str, message: str = "") -> dict[str, Any]:
    """A ClusterPolicy with its conditions as the operator writes them."""
    other = {"type": "Error", "status": "True" if status == "False" else "False", "message": message}
    return {"status": {"conditions": [{"type": "Ready", "status": status, "reason": reason}, other]}}


def daemons(digest: str = "new", **status: int) -> dict[str, Any]:
    """The DaemonSet of a pool's driver."""
    whole = {"observedGeneration": 2, "desiredNumberScheduled": 4, "updatedNumberScheduled": 4, "numberAvailable": 4}
    labels = {"railwright.dev/pool": "gpus"}
    return {
        "metadata": {"labels": labels, "annotations": {DIGEST: digest}, "generation": 2},
        "status": {**whole, **status},
    }


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "there is no ClusterPolicy yet"),
        ({}, "it says nothing yet"),
        (policy("True", "Reconciled"), ""),
        (policy("True", "NFDLabelsMissing"), "without having done anything (NFDLabelsMissing"),
        (policy("True", "NoGPUNodes"), "without having done anything (NoGPUNodes"),
        (policy("False", "Error", "states not ready: [state-driver]"), "states not ready: [state-driver]"),
    ],
    ids=["absent", "silent", "reconciled", "no labels", "no hosts", "driver"],
)
def test_a_policy_is_ready_for_one_reason_only(given: dict[str, Any] | None, said: str) -> None:
    """Without labels of NFD the operator calls itself ready, and nothing runs anywhere."""
    found = lacking_policy(given)
    assert said in found
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("digest", "status", "said"),
    [
        ("new", {}, ""),
        ("old", {}, "has not taken up the new driver"),
        ("new", {"observedGeneration": 1}, "4 of 4 hosts"),
        ("new", {"updatedNumberScheduled": 1}, "1 of 4 hosts run the new driver"),
        ("new", {"numberAvailable": 3}, "3 of 4 hosts run the new driver"),
    ],
    ids=["done", "not taken up", "not seen yet", "one by one", "one is not up"],
)
def test_a_driver_is_rolled_out_when_each_host_runs_the_newest(digest: str, status: dict[str, int], said: str) -> None:
    """A driver that is still the old one looks ready as well."""
    found = lacking_driver([daemons(digest, **status)], "gpus", "new")
    assert said in found
    assert bool(found) == bool(said)


def test_a_pool_without_any_driver_is_not_done() -> None:
    """Hosts that NFD has not labelled get none."""
    assert "labelled by NFD" in lacking_driver([daemons()], "other", "new")


def test_gpus_are_there_when_enough_hosts_give_out_all_of_theirs() -> None:
    """Spare hosts may be broken, others may not; half of a host's GPUs do not count."""
    hosts = [
        {"metadata": {"labels": {"railwright.dev/pool": "gpus"}}, "status": {"allocatable": {"nvidia.com/gpu": count}}}
        for count in ("8", "8", "7")
    ]
    assert list(lacking_gpus(hosts, [Wanted("gpus", 2, 8)])) == []
    assert list(lacking_gpus(hosts, [Wanted("gpus", 3, 8)])) == ["pool 'gpus': 2 of 3 hosts give out their 8 GPUs"]


def test_pools_that_are_split_or_left_alone_are_not_waited_for() -> None:
    """Their GPUs have other names, or none."""
    change = {
        "pools/split": {"board": "hgx-h200", "hosts": 2, "gpu_operator": {"mig": "all-balanced"}},
        "pools/alone": {"board": "hgx-h200", "hosts": 2, "gpu_operator": {"operated": False}},
        "pools/gpus/spare_hosts": 1,
    }
    assert wanted(plan_of(change)) == (Wanted("gpus", 3, 8),)


def test_a_deadline_grows_with_hosts_between_its_bounds() -> None:
    """Never shorter than images and a compile take."""
    plan = plan_of({"gpu_operator": {"upgrade": {"parallel": 2}}})
    assert deadline(plan, 1, 60) == LEAST_SECONDS
    assert deadline(plan, 16, 60) == 8 * (20 * 60 + 60)
    assert deadline(plan, 4096, 600) == MOST_SECONDS


@pytest.mark.parametrize(
    ("namespace", "nfd", "is_refused"),
    [
        ("kube-system", "install", True),
        ("nvidia-network-operator", "install", False),
        ("kube-system", "existing", False),
    ],
    ids=["a foreign one", "ours", "a foreign one that is told"],
)
def test_a_second_nfd_is_refused_by_name(namespace: str, nfd: str, is_refused: bool) -> None:
    """Helm would put it beside the other, and Pulumi say nothing."""
    plan = plan_of({"gpu_operator": {"nfd": nfd}})
    found = second(plan, [{"metadata": {"namespace": namespace, "name": "nfd-worker"}}])
    assert (found is not None) == is_refused
    assert not found or (found.id == "RW-501" and f"{namespace}/nfd-worker" in found.found)
