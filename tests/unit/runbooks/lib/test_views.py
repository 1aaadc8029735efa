"""What is read from the API's objects is what they say, and what is left out has its default."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from runbooks.lib.kubernetes import views
from tests.unit.runbooks.lib.things import node, pod


@pytest.mark.parametrize(
    ("quantity", "number"),
    [("500m", 0.5), ("2", 2.0), ("1Gi", 2.0**30), ("1G", 1e9), ("1500Mi", 1500 * 2.0**20), (8, 8.0), ("0", 0.0)],
)
def test_quantities_are_numbers(quantity: Any, number: float) -> None:
    """In base units."""
    assert views.amount(quantity) == pytest.approx(number)


def test_a_crashed_container_says_why() -> None:
    """The state now, and how the run before it ended."""
    raw = pod()
    raw["status"]["containerStatuses"] = [
        {
            "name": "vllm",
            "ready": False,
            "restartCount": 4,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
            "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": "2026-01-01T00:00:05Z"}},
        }
    ]
    found = views.pod(raw)
    container = found.containers[0]
    assert (found.restarts, container.state, container.reason) == (4, "waiting", "CrashLoopBackOff")
    assert (container.last_reason, container.last_exit_code) == ("OOMKilled", 137)
    assert container.last_ended == datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)


def test_pods_that_no_drain_moves_are_told_apart() -> None:
    """Those of DaemonSets, and those that a file on the host makes."""
    mirror = pod(owner="")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert views.pod(pod(owner="DaemonSet/exporter")).is_daemon
    assert views.pod(mirror).is_mirror
    plain = views.pod(pod())
    assert not plain.is_daemon
    assert not plain.is_mirror


@pytest.mark.parametrize(
    ("status", "settled"),
    [
        ({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, True),
        ({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2}, False),
        ({"observedGeneration": 3, "replicas": 3, "updatedReplicas": 2, "availableReplicas": 2}, False),
        ({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 1, "availableReplicas": 2}, False),
        ({"observedGeneration": 3, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 1}, False),
        ({}, False),
    ],
    ids=["settled", "not seen yet", "an old one is left", "old template", "not available", "new"],
)
def test_a_rollout_is_over_only_when_nothing_is_left_of_the_old(status: dict[str, int], settled: bool) -> None:
    """Counts and generation together."""
    meta = {"namespace": "models", "name": "a", "generation": 3}
    raw = {"metadata": meta, "spec": {"replicas": 2, "template": {}}, "status": status}
    assert views.deployment(raw).is_settled is settled


@pytest.mark.parametrize(
    "times",
    [
        {"lastTimestamp": "2026-01-01T00:00:09Z"},
        {"eventTime": "2026-01-01T00:00:09.000000Z", "lastTimestamp": None},
        {"eventTime": "2026-01-01T00:00:01Z", "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:09Z"}},
    ],
    ids=["old form", "new form", "series"],
)
def test_events_of_both_forms_have_their_last_time(times: dict[str, Any]) -> None:
    """The newest time counts."""
    about = {"kind": "Pod", "namespace": "models", "name": "p"}
    meta = {"creationTimestamp": "2026-01-01T00:00:01Z"}
    found = views.event({"metadata": meta, "involvedObject": about, "reason": "Killing", **times})
    assert found.at == datetime(2026, 1, 1, 0, 0, 9, tzinfo=UTC)


def test_a_host_takes_pods_when_ready_and_not_cordoned() -> None:
    """One of the two is not enough."""
    answers = [views.host(node(ready=ready, cordoned=c)).takes_pods for ready in (True, False) for c in (False, True)]
    assert answers == [True, False, False, False]
