"""What a step may do, and how it waits."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from infra.errors import CheckError
from runbooks.engine.context import Context, Order
from runbooks.engine.journal import Journal
from runbooks.engine.model import Inputs, Outcome, step
from runbooks.engine.screen import Screen
from runbooks.engine.stop import Halted, Interrupted

WRITES, READS = (
    step("x", writes=writes)(lambda self, ctx: Outcome.ok("")).__railwright_step__  # type: ignore[attr-defined]
    for writes in (True, False)
)
NOW = timedelta(0)


@pytest.fixture
def make(tmp_path: Path) -> object:
    def context(*, dry: bool = False) -> Context:
        order = Order("r", "lab", Inputs(), dry, "ann", "", "", tmp_path)
        return Context(order, Journal(tmp_path / "r", durable=False), Screen(), lambda ctx: object())

    return context


@pytest.mark.parametrize(
    ("dry", "writes", "halted", "may"),
    [(False, True, False, True), (True, True, False, False), (False, False, False, False), (False, True, True, False)],
    ids=["acts", "dry", "a step that reads", "a step that was left behind"],
)
def test_writing_is_allowed_only_in_a_step_that_says_so(make, dry: bool, writes: bool, halted: bool, may: bool) -> None:
    """Clients ask before each write."""
    context = make(dry=dry)
    context.enter(WRITES if writes else READS, may_write=writes)
    if halted:
        context.halt(Interrupted("x"))
    assert context.may_write is may


def test_a_step_that_was_left_behind_can_do_nothing_more(make) -> None:
    """Record, sleep, wait and retry all end it, even if it swallows exceptions."""
    context = make()
    context.enter(WRITES, may_write=True)
    context.halt(Interrupted("over"))
    for call in (
        lambda: context.record(x=1),
        lambda: context.sleep(60),
        lambda: context.until(lambda: None, timeout=timedelta(hours=1), what="x"),
        lambda: context.retry(lambda: 1, on=KeyError, timeout=timedelta(hours=1)),
        context.check,
    ):
        with pytest.raises(Halted):
            call()
    assert not issubclass(Halted, Exception)


@pytest.mark.parametrize(
    ("answers", "wanted"), [([None, False, 7], 7), ([0], 0), ([""], "")], ids=["later", "zero", "empty"]
)
def test_until_waits_for_anything_but_none_and_false(make, answers: list[object], wanted: object) -> None:
    """Zero is an answer."""
    waiting = iter(answers)
    assert make().until(lambda: next(waiting), timeout=timedelta(minutes=1), every=0, what="x") == wanted


def test_until_that_never_holds_is_a_failed_check(make) -> None:
    """With what was waited for, and for how long."""
    with pytest.raises(CheckError, match="pod is ready — not so after 0 s"):
        make().until(lambda: None, timeout=NOW, what="pod is ready")


def test_a_dry_run_asks_once(make) -> None:
    """It does not wait for what it did not do."""
    asked: list[int] = []
    assert make(dry=True).until(lambda: asked.append(1), timeout=timedelta(hours=1), what="x") is None
    assert asked == [1]


@pytest.mark.parametrize(
    ("error", "dry", "tries"),
    [(KeyError, False, 3), (ValueError, False, 1), (KeyError, True, 1)],
    ids=["named", "other", "dry"],
)
def test_only_named_exceptions_are_tried_again(make, error: type[Exception], dry: bool, tries: int) -> None:
    """And not when dry."""
    asked: list[int] = []

    def ask() -> int:
        asked.append(1)
        if len(asked) < 3:
            raise error
        return 1

    if tries == 3:
        assert make(dry=dry).retry(ask, on=KeyError, timeout=timedelta(minutes=1), every=0) == 1
    else:
        with pytest.raises(error):
            make(dry=dry).retry(ask, on=KeyError, timeout=timedelta(minutes=1), every=0)
    assert len(asked) == tries
