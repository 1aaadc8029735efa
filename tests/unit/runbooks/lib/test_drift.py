"""Drift is what the cluster has otherwise than planned; what the API server fills in is none."""

from __future__ import annotations

from typing import Any

import pytest

from runbooks.lib import drift

ENV = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]


@pytest.mark.parametrize(
    ("planned", "live", "found"),
    [
        ({"a": 1}, {"a": 1, "filledIn": 2}, []),
        ({"a": 1}, {"a": 2}, ["spec.a"]),
        ({"a": 1}, {}, ["spec.a"]),
        ({"a": {}, "b": [], "c": False, "d": None}, {}, []),
        ({"args": ["x", "y"]}, {"args": ["x"]}, ["spec.args"]),
        ({"args": ["x", "y"]}, {"args": ["y", "x"]}, ["spec.args"]),
        ({"env": ENV}, {"env": ENV[::-1]}, []),
        ({"env": ENV}, {"env": [*ENV, {"name": "C", "value": "3"}]}, ["spec.env[C]"]),
        ({"env": ENV}, {"env": ENV[:1]}, ["spec.env[B]"]),
        ({"env": ENV}, {"env": [ENV[0], {"name": "B", "value": "x"}]}, ["spec.env[B].value"]),
        ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": "1"}}, []),
        ({"limits": {"memory": "1024Mi"}}, {"limits": {"memory": "1Gi"}}, []),
        ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": "2"}}, ["spec.limits.cpu"]),
        ({"sizeLimit": "1024Mi"}, {"sizeLimit": "1Gi"}, []),
        ({"image": "1000m"}, {"image": "1"}, ["spec.image"]),
        ({"annotations": {drift.CONFIG_DIGEST: ""}}, {"annotations": {drift.CONFIG_DIGEST: "abc"}}, []),
    ],
    ids=[
        "filled in", "value", "gone", "empty is absent", "argument", "order of arguments", "order of variables",
        "added by hand", "removed by hand", "changed by hand", "quantity", "memory", "other quantity", "size",
        "no quantity", "digest",
    ],
)  # fmt: skip
def test_only_what_is_planned_counts(planned: dict[str, Any], live: dict[str, Any], found: list[str]) -> None:
    """Names each field that differs."""
    assert [path for path, _, _ in drift.compare(planned, live, "spec")] == found


def test_of_long_lists_only_what_came_and_went_is_told() -> None:
    """An argument too many is named, not repeated with all the others."""
    told = drift.tell("args", ["--a", "--b"], ["--a", "--c"])
    assert told == "args has ['--c'] too and lacks ['--b']"
