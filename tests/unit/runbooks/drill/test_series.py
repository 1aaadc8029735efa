"""Drills one after the other: what one leaves behind fades before the next is refused for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from runbooks.engine.result import Exit
from runbooks.engine.stop import Stop
from runbooks.lib.drill import command


class Attempts:
    """A drill that is refused so many times."""

    def __init__(self, refused: int, then: Exit = Exit.DONE) -> None:
        self.refused, self.then, self.made = refused, then, 0

    def __call__(self) -> Any:
        self.made += 1
        return SimpleNamespace(runbook="drills/lose_gpu", exit=Exit.REFUSED if self.made <= self.refused else self.then)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses, which take no time."""
    pauses: list[float] = []
    monkeypatch.setattr(command, "time", SimpleNamespace(monotonic=lambda: sum(pauses), sleep=pauses.append))
    return pauses


def test_one_drill_does_not_refuse_all_that_follow(slept: list[float]) -> None:
    """An alert that the drill before left firing fades within the rest."""
    attempts = Attempts(refused=3)
    assert command._rested(attempts, Stop()).exit == Exit.DONE
    assert slept == [command.PAUSE_SECONDS] * 3


def test_what_does_not_fade_is_told(slept: list[float]) -> None:
    """After the rest the refusal stands."""
    assert command._rested(Attempts(refused=1_000), Stop()).exit == Exit.REFUSED
    assert sum(slept) == command.REST_SECONDS


def test_a_drill_that_began_is_not_tried_again(slept: list[float]) -> None:
    """Only a refusal touched nothing."""
    attempts = Attempts(refused=0, then=Exit.UNDONE)
    assert command._rested(attempts, Stop()).exit == Exit.UNDONE
    assert (attempts.made, slept) == (1, [])
