"""What a drill claims is judged by numbers; too few of them prove nothing."""

from __future__ import annotations

import re
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from infra.errors import CheckError
from runbooks.lib.drill.claims import Expects, Holds, Left
from runbooks.lib.drill.health import PATIENCE, abort_if
from runbooks.lib.traffic import Figures, Verdict


def _figures(first_token_p99: float | None = None, **counts: int) -> Figures:
    ttft = None if first_token_p99 is None else SimpleNamespace(p99=first_token_p99)
    return cast("Figures", SimpleNamespace(counts={Verdict(name): n for name, n in counts.items()}, ttft=ttft))


@pytest.mark.parametrize(
    ("holds", "figures", "said"),
    [
        (Holds(), _figures(ok=1), []),
        (Holds(), _figures(late=1), []),
        (Holds(), _figures(), ["0 requests answered, at least 1 wanted"]),
        (Holds(answered=0), _figures(), []),
        (Holds(), _figures(ok=9, lost=1), ["1 requests lost, 0 allowed"]),
        (Holds(lost=1), _figures(ok=9, lost=1), []),
        (Holds(lost=None), _figures(ok=9, lost=99), []),
        (Holds(), _figures(ok=9, cut=1, wrong=2), ["1 requests cut, 0 allowed", "2 requests wrong, 0 allowed"]),
        (Holds(), _figures(ok=9, rejected=1), ["1 requests rejected, 0 allowed"]),
        (Holds(), _figures(ok=9, aborted=5), []),
        (Holds(first_token_s=2.5), _figures(3.0, ok=9), ["P99 of the first token is 3.00 s, 2.5 s allowed"]),
        (Holds(first_token_s=2.5), _figures(2.5, ok=9), []),
    ],
)
def test_each_broken_number_is_said(holds: Holds, figures: Figures, said: list[str]) -> None:
    """Every claim that does not hold is one sentence, and no answer at all is a broken claim."""
    assert list(holds.broken(figures)) == said


@pytest.mark.parametrize(
    ("live", "takes", "floor", "refused"), [(2, 1, 1, False), (1, 1, 1, True), (2, 2, 0, False), (0, 1, 0, True)]
)
def test_what_must_be_left_is_left(live: int, takes: int, floor: int, refused: bool) -> None:
    """A fault that takes more than may be taken is refused, with what there is."""
    said = Left("ready hosts", live, takes, floor).refusal()
    assert (said is not None) == refused
    if said:
        assert f"{live} now" in said
        assert "ready hosts" in said


@pytest.mark.parametrize(
    ("holds", "counts", "ends"),
    [
        (Holds(lost=2), {"lost": 2 + PATIENCE}, False),
        (Holds(lost=2), {"lost": 3 + PATIENCE}, True),
        (Holds(lost=None), {"lost": 999}, False),
        (Holds(), {"cut": 1 + PATIENCE}, True),
        (Holds(), {"wrong": 1 + PATIENCE}, True),
        (Holds(), {"rejected": 999}, False),
    ],
)
def test_a_drill_is_broken_off_when_clients_suffer_more_than_claimed(
    holds: Holds, counts: dict[str, Any], ends: bool
) -> None:
    """The abort rule looks at failures, with patience for the few that a claim is judged on at the end."""
    if ends:
        with pytest.raises(CheckError, match="abort rule"):
            abort_if(holds, _figures(**counts))
    else:
        abort_if(holds, _figures(**counts))


def test_an_answer_must_name_what_was_broken() -> None:
    """Another pod that ended is not the one that the drill took."""
    pattern = Expects("EngineDown", timedelta(seconds=9), "serving/recover_engine", "pod models/{target} ended").pattern
    said = "what is wrong: pod models/tiny-7f-aaaaa ended (Killing)"
    assert re.search(pattern("tiny-7f-aaaaa"), said)
    assert not re.search(pattern("tiny-7f-bbbbb"), said)
