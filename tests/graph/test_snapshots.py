"""A stack that runs is not made anew by another version of the program."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.graph.conftest import config_of
from tests.graph.snapshots import FOLDER, replaced, snapshot

Record = Callable[[str, dict[str, Any]], dict[str, Any]]
STACKS = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def _before(stack: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load((FOLDER / f"{stack}.yaml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("stack", STACKS)
def test_nothing_that_runs_is_taken_away_or_made_anew(record: Record, stack: str) -> None:
    """Every resource of the snapshot is there under its name and parent, and what cannot be changed is the same."""
    before = _before(stack)
    assert len(before) > 20
    assert replaced(before, snapshot(record(stack, config_of(stack)))) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "pool-b300-group"}, "pool-b300-nodes (aws:eks/nodeGroup:NodeGroup): is taken away"),
        ({"parent": "pools"}, "pool-b300-nodes (aws:eks/nodeGroup:NodeGroup): is taken away"),
        ({"fixed": {"clusterName": "other"}}, "is made anew for amiType, capacityType, clusterName"),
    ],
    ids=["renamed", "moved", "changed"],
)
def test_what_would_be_made_anew_is_found(change: dict[str, Any], said: str) -> None:
    """So that the test above can fail."""
    before = _before("eks-b300")
    after = copy.deepcopy(before)
    (pool,) = (item for item in after if item["name"] == "pool-b300-nodes")
    pool.update(change)
    assert any(said in problem for problem in replaced(before, after)), replaced(before, after)
