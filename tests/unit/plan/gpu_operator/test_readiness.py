"""Ready is what gives out GPUs, not what was deployed."""

from __future__ import annotations

from typing import Any

import pytest

from infra.errors import CheckError
from infra.plan.allocatable import MOST_SECONDS, Wanted
from infra.plan.gpu_operator.discovery import other_operator, second
from infra.plan.gpu_operator.objects import DIGEST
from infra.plan.gpu_operator.readiness import (
    LEAST_SECONDS,
    UPGRADE_LABEL,
    deadline,
    lacking_driver,
    lacking_policy,
    lacking_split,
    lacking_upgrade,
    split,
    wanted,
)
from tests.unit.plan.specs import plan_of


def policy(status: str, reason: str, message: str = "") -> dict[str, Any]:
    """A ClusterPolicy with its conditions as the operator writes them."""
    other = {"type": "Error", "status": "True" if status == "False" else "False", "message": message}
    return {"status": {"conditions": [{"type": "Ready", "status": status, "reason": reason}, other]}}


def daemons(digest: str = "new", **status: int) -> dict[str, Any]:
    """The DaemonSet of a pool's driver; v25.3 marks its pods only."""
    whole = {"observedGeneration": 2, "desiredNumberScheduled": 4, "updatedNumberScheduled": 4, "numberAvailable": 4}
    pods = {"labels": {"railwright.dev/pool": "gpus"}, "annotations": {DIGEST: digest}}
    return {
        "metadata": {"labels": {}, "generation": 2},
        "spec": {"template": {"metadata": pods}},
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
        ("new", {"desiredNumberScheduled": 0, "numberAvailable": 0}, "is wanted on no host"),
    ],
    ids=["done", "not taken up", "not seen yet", "one by one", "one is not up", "aicr PR 2183: none desired"],
)
def test_a_driver_is_rolled_out_when_each_host_runs_the_newest(digest: str, status: dict[str, int], said: str) -> None:
    """A driver that is still the old one looks ready as well."""
    found = lacking_driver([daemons(digest, **status)], "gpus", "new")
    assert said in found
    assert bool(found) == bool(said)


def test_a_pool_without_any_driver_is_not_done() -> None:
    """Hosts that NFD has not labelled get none."""
    assert "labelled by NFD" in lacking_driver([daemons()], "other", "new")


def upgraded_host(state: str) -> dict[str, Any]:
    """A host as far as the operator has taken it to a newer driver."""
    labels = {"railwright.dev/pool": "gpus", **({UPGRADE_LABEL: state} if state else {})}
    return {"metadata": {"name": "h0", "labels": labels}}


@pytest.mark.parametrize(
    ("state", "is_back"),
    [("", True), ("upgrade-done", True), ("uncordon-required", False), ("upgrade-required", False)],
    ids=["never upgraded", "done", "ready but cordoned", "not begun"],
)
def test_a_pool_has_its_driver_when_its_hosts_are_given_back(state: str, is_back: bool) -> None:
    """Seen with v25.3.4: the pod of the last host is ready while that host is still cordoned."""
    assert list(lacking_upgrade([upgraded_host(state)])) == (
        [] if is_back else [f"host h0 is still on its way to the new driver ({UPGRADE_LABEL}: {state})"]
    )


def test_a_host_that_the_operator_gave_up_ends_the_wait_with_its_name() -> None:
    """It stays cordoned until somebody looks."""
    with pytest.raises(CheckError, match=r"pool 'gpus' .* gave up on the new driver of host h0 .* delete that pod"):
        list(lacking_upgrade([upgraded_host("upgrade-failed")]))


def split_host(state: str) -> dict[str, Any]:
    """A host whose GPUs the MIG manager splits, as far as it has come."""
    labels = {"railwright.dev/pool": "gpus", "nvidia.com/mig.config": "all-balanced"}
    return {
        "metadata": {"name": "h0", "labels": {**labels, **({"nvidia.com/mig.config.state": state} if state else {})}}
    }


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("success", []),
        ("pending", ["host h0: GPUs are not split as 'all-balanced' yet (nvidia.com/mig.config.state: pending)"]),
        ("", ["host h0: GPUs are not split as 'all-balanced' yet (nvidia.com/mig.config.state: absent)"]),
    ],
    ids=["success", "pending", "not seen"],
)
def test_a_split_is_waited_for_until_the_manager_says_success(state: str, said: list[str]) -> None:
    """Its pod is ready long before, and would look the same if it had given up."""
    assert list(lacking_split([split_host(state)])) == said


def test_a_mig_apply_that_is_stuck_ends_the_wait_with_host_and_profile() -> None:
    """gpu-operator#1361: the manager does not try again by itself, so waiting on would be for nothing."""
    with pytest.raises(CheckError, match=r"pool 'gpus' .* split host h0 as 'all-balanced' .* set the pool's"):
        list(lacking_split([split_host("failed")]))


def test_only_pools_that_are_split_are_asked_for_it() -> None:
    """Others carry no such label."""
    other = {"board": "hgx-h200", "hosts": 2, "gpu_operator": {"mig": "all-balanced"}}
    assert split(plan_of({"pools/split": other})) == ("split",)


def test_pools_that_are_split_or_left_alone_are_not_waited_for() -> None:
    """Their GPUs have other names, or none."""
    change = {
        "pools/split": {"board": "hgx-h200", "hosts": 2, "gpu_operator": {"mig": "all-balanced"}},
        "pools/alone": {"board": "hgx-h200", "hosts": 2, "gpu_operator": {"operated": False}},
        "pools/gpus/spare_hosts": 1,
    }
    assert wanted(plan_of(change)) == (Wanted("gpus", 3, "nvidia.com/gpu", 8),)


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


@pytest.mark.parametrize(
    ("release", "namespace", "is_refused"),
    [
        ("gpu-operator", "gpu-operator", False),
        ("gpu-operator-1712", "gpu-operator", True),
        ("gpu-operator", "nvidia", True),
        (None, None, True),
    ],
    ids=["ours", "another release", "another namespace", "written by hand"],
)
def test_an_install_that_finds_the_operator_there_is_refused_by_name(
    release: str | None, namespace: str | None, is_refused: bool
) -> None:
    """aicr#262: told before anything is made, with the way to live with it; our own, cut short, is gone on with."""
    notes = {"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": namespace}
    found = other_operator({"metadata": {"name": "cluster-policy", "annotations": notes if release else {}}})
    assert (found is not None) == is_refused
    assert not found or (found.id == "RW-501" and "'cluster-policy'" in found.found and "existing" in found.fix)


def test_a_cluster_without_a_policy_has_no_other_operator() -> None:
    """Nor without the kind of it."""
    assert other_operator(None) is None
