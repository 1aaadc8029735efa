"""What was before the last change is found by who made it: a hand, an update of the stack, or nobody knows."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from infra.errors import Unknown
from infra.plan.facts import Plan
from runbooks.lib import drift, rollback
from runbooks.lib.history import Update
from runbooks.lib.kubernetes import views
from tests.unit.plan.specs import plan_of
from tests.unit.runbooks.lib.acting import Acting

OLD, NOW = plan_of({"models/chat/max_model_len": 4096}), plan_of()
"""The stack before its last update, and after it."""


def _manifest(plan: Plan, *extra: str) -> dict[str, Any]:
    found = copy.deepcopy(drift.deployment(plan, "models", "chat"))
    assert found is not None
    found["spec"]["template"]["spec"]["containers"][0]["args"] += extra
    return found


class Past:
    """A history in which ``NOW`` was applied last, and ``OLD`` before it."""

    def __init__(self, *, is_away: bool = False) -> None:
        self._is_away = is_away

    def applied(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        if self._is_away:
            raise Unknown("pulumi is not on PATH")
        return _manifest(NOW)

    def plans(self) -> Iterator[tuple[Update, Plan]]:
        for day, plan in ((2, NOW), (1, OLD)):
            yield Update(datetime(2026, 1, day, tzinfo=UTC), "update", "succeeded", "", "", {}, {}), plan


def _find(live: dict[str, Any], plan: Plan, *, is_away: bool = False) -> tuple[rollback.Previous | None, Acting]:
    deployments = SimpleNamespace(get=lambda namespace, name: views.deployment({"status": {}, **live}))
    found = SimpleNamespace(kube=SimpleNamespace(deployments=deployments), history=Past(is_away=is_away), plan=plan)
    ctx = Acting(connect=lambda ctx: found)
    return rollback.find(ctx, "models", "chat"), ctx


def _args(previous: rollback.Previous | None) -> list[str]:
    assert previous is not None
    found: list[str] = previous.template["spec"]["containers"][0]["args"]
    return found


def test_a_change_by_hand_goes_back_to_what_was_applied() -> None:
    """Not further: the update before it is no part of it."""
    previous, _ = _find(_manifest(NOW, "--by-hand"), NOW)
    assert previous is not None
    assert previous.source == "last update"
    assert "--by-hand" in previous.said
    assert _args(previous) == _args_of(NOW)


def test_an_update_goes_back_to_the_update_before() -> None:
    """The plan of then is made again from the config that Pulumi remembers."""
    previous, _ = _find(_manifest(NOW), NOW)
    assert previous is not None
    assert previous.source == "update of 2026-01-01 00:00 UTC"
    assert "--max-model-len=4096" in _args(previous)


def test_an_edited_stack_file_is_not_taken_for_the_past() -> None:
    """What was applied counts, not what the file says by now."""
    edited = plan_of({"models/chat/max_model_len": 2048})
    previous, _ = _find(_manifest(NOW, "--by-hand"), edited)
    assert _args(previous) == _args_of(NOW)


def test_without_pulumi_the_stack_file_has_to_do() -> None:
    """And that is said."""
    previous, ctx = _find(_manifest(NOW, "--by-hand"), NOW, is_away=True)
    assert previous is not None
    assert previous.source == "plan"
    assert any("falls back" in said for said in ctx.said)


@pytest.mark.parametrize("digest", ["", "abc"], ids=["a model", "the gateway"])
def test_a_digest_that_no_plan_knows_is_kept(digest: str) -> None:
    """A gateway that went back would else be rolled again for nothing."""
    live = _manifest(NOW, "--by-hand")
    if digest:
        live["spec"]["template"]["metadata"]["annotations"][drift.CONFIG_DIGEST] = digest
    previous, _ = _find(live, NOW)
    assert previous is not None
    assert previous.template["metadata"]["annotations"].get(drift.CONFIG_DIGEST, "") == digest


def _args_of(plan: Plan) -> list[str]:
    found: list[str] = _manifest(plan)["spec"]["template"]["spec"]["containers"][0]["args"]
    return found
