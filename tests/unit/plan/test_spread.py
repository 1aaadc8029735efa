"""Replicas follow from what one of them holds, and from how slow it gets with more requests."""

from __future__ import annotations

from typing import Any

import pytest

from infra.config.goal import Goal
from infra.plan.speed import Band, Speed
from infra.plan.spread import at_worst, spread

GOAL = Goal(prompt=1000, output=200, concurrency=100)
CALLS: list[int] = []


def _speed_at(requests: int) -> Speed:
    """A replica whose tokens take 10 ms and 1 ms for each request; its figures may be off by a tenth."""
    CALLS.append(requests)
    token_s, band = 0.01 + 0.001 * requests, Band(0.9, 1.1)
    rate = requests / token_s
    return Speed(0.1 * requests, token_s, rate, rate, band, band, "test", (), "memory", 0.9)


@pytest.mark.parametrize(
    ("changes", "held", "replicas", "requests", "binds"),
    [
        ({}, 100, 1, 100, ""),
        ({}, 200, 1, 100, ""),
        ({}, 99, 2, 50, "concurrency"),
        ({}, 10, 10, 10, "concurrency"),
        ({"token_s": 0.03}, 100, 5, 20, "token_s"),
        ({"token_s": 0.03}, 10, 10, 10, "concurrency"),
        ({"first_token_s": 1.0}, 100, 10, 10, "first_token_s"),
        ({"first_token_s": 1.0, "token_s": 0.03}, 100, 10, 10, "first_token_s"),
        ({"tokens_per_s": 800}, 100, 1, 100, ""),
        ({"tokens_per_s": 2000}, 100, 3, 34, "tokens_per_s"),
    ],
    ids=str,
)
def test_the_fewest_replicas_that_meet_the_goal(
    changes: dict[str, Any], held: int, replicas: int, requests: int, binds: str
) -> None:
    """With what keeps it from one replica less."""
    found = spread(GOAL.model_copy(update=changes), held, _speed_at)
    assert not isinstance(found, str)
    assert (found.replicas, found.requests, found.binds) == (replicas, requests, binds)


@pytest.mark.parametrize(
    ("changes", "short"),
    [
        ({"token_s": 0.0105}, "token_s"),
        ({"first_token_s": 0.09}, "first_token_s"),
        ({"tokens_per_s": 9999}, "tokens_per_s"),
    ],
    ids=str,
)
def test_a_goal_that_one_request_alone_breaks_has_no_replicas(changes: dict[str, Any], short: str) -> None:
    """More replicas do not make a model faster than it is alone."""
    assert spread(GOAL.model_copy(update=changes), 100, _speed_at) == short


@pytest.mark.parametrize("limit", [0.0112, 0.015, 0.02, 0.05, 0.1, 0.12], ids=str)
@pytest.mark.parametrize("held", [1, 7, 64, 1000], ids=str)
def test_no_replica_more_than_needed_is_asked_for(limit: float, held: int) -> None:
    """The limit holds with what is found, and not with one replica less."""
    found = spread(GOAL.model_copy(update={"token_s": limit}), held, _speed_at)
    assert not isinstance(found, str)
    assert found.speed.tpot_s <= limit
    assert found.requests <= held
    assert found.replicas * found.requests >= GOAL.concurrency
    fewer = found.replicas - 1
    each = -(-GOAL.concurrency // fewer) if fewer else held + 1
    assert each > held or _speed_at(each).tpot_s > limit


def test_the_bad_end_of_an_error_is_slower_in_all() -> None:
    """A first token and each further one take longer, and fewer come in a second."""
    speed = at_worst(_speed_at(10))
    assert (speed.ttft_s, speed.tpot_s, speed.tokens_per_s) == pytest.approx((1.1, 0.022, 10 / 0.02 * 0.9))


@pytest.mark.parametrize("changes", [{"token_s": 0.02}, {"tokens_per_s": 3000}, {"first_token_s": 0.5}], ids=str)
def test_holding_more_requests_never_takes_more_replicas(changes: dict[str, Any]) -> None:
    """More memory is never dearer."""
    found = [spread(GOAL.model_copy(update=changes), held, _speed_at) for held in (1, 2, 5, 10, 50, 100, 1000)]
    counts = [run.replicas for run in found if not isinstance(run, str)]
    assert len(counts) == 7
    assert counts == sorted(counts, reverse=True)


def test_a_speed_is_asked_for_few_times() -> None:
    """A plan has many ways to try; one of them takes a search by halves, not a walk."""
    CALLS.clear()
    spread(GOAL.model_copy(update={"concurrency": 4096, "token_s": 0.5, "tokens_per_s": 1500}), 4096, _speed_at)
    assert len(CALLS) <= 40
