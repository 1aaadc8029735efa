"""Room is counted as the scheduler counts it: requests against what hosts have left, labels, taints and cordons."""

from __future__ import annotations

from typing import Any

import pytest

from runbooks.lib import room
from runbooks.lib.kubernetes import views
from tests.unit.runbooks.lib.things import node, pod

TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TOLERATED = {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("wanted", "host", "there", "homeless"),
    [
        ([pod("a")], node("h-1"), [], []),
        ([pod("a", cpu="8500m")], node("h-1"), [], ["a"]),
        ([pod("a", cpu="8")], node("h-1"), [pod("b", "h-1", cpu="1m")], ["a"]),
        ([pod("a", cpu="5"), pod("b", cpu="5")], node("h-1"), [], ["b"]),
        ([pod("a")], node("h-1"), [pod(f"b{n}", "h-1") for n in range(3)], ["a"]),
        ([pod("a")], node("h-1", cordoned=True), [], ["a"]),
        ([pod("a")], node("h-1", ready=False), [], ["a"]),
        ([pod("a")], node("h-1", taints=[TAINT]), [], ["a"]),
        ([pod("a", **TOLERATED)], node("h-1", taints=[TAINT]), [], []),
        ([pod("a", nodeSelector={"railwright.dev/pool": "b"})], node("h-1"), [], ["a"]),
        ([pod("a", nodeSelector={"railwright.dev/pool": "a"})], node("h-1"), [], []),
    ],
    ids=[
        "fits", "too big", "taken", "second has none", "pods", "cordoned", "not ready", "tainted", "tolerated",
        "other pool", "own pool",
    ],
)  # fmt: skip
def test_who_has_no_place(
    wanted: list[dict[str, Any]], host: dict[str, Any], there: list[dict[str, Any]], homeless: list[str]
) -> None:
    """Names the pods that no host takes."""
    pods = [views.pod(raw) for raw in there]
    left = room.without_place([views.pod(raw) for raw in wanted], [views.host(host)], pods)
    assert [found.name for found in left] == homeless


def test_pods_that_have_ended_take_no_room() -> None:
    """A finished Job's pod stays listed and asks for nothing."""
    over = pod("done", "h-1", cpu="8")
    over["status"]["phase"] = "Succeeded"
    assert not room.without_place([views.pod(pod("a"))], [views.host(node("h-1"))], [views.pod(over)])
