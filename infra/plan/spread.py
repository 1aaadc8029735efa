"""A goal's requests spread over replicas: how many each may answer at once, and how many replicas that takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

from infra.config.goal import Goal
from infra.plan.speed import Speed

SpeedAt = Callable[[int], Speed]
"""Speed of one replica by the requests it answers at once; never faster with more of them."""

End = Callable[[Speed], Speed]
"""What of a prediction is counted on."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How many replicas meet a goal, and how each one runs."""

    replicas: int
    requests: int
    """Requests that each replica answers at once when all come (count)."""
    speed: Speed
    binds: str
    """What keeps it from fewer replicas, as ``Miss`` has it; empty with one."""


def spread(goal: Goal, held: int, speed_at: SpeedAt) -> Spread | str:
    """Find the fewest replicas that meet a goal; if none do, the limit that one request alone breaks.

    Args:
        held: requests that one replica can keep in its cache at once (count).
    """
    most, binds = min(held, goal.concurrency), "concurrency"
    if broken := _broken(goal, speed_at(most)):
        if alone := _broken(goal, speed_at(1)):
            return alone
        most, binds = _last(1, most, lambda count: not _broken(goal, speed_at(count))), broken
    fewest = ceil(goal.concurrency / most)
    wanted = goal.tokens_per_s
    if wanted and _rate(goal, fewest, speed_at) < wanted:
        # One request on each replica is as fast as it gets.
        if _rate(goal, goal.concurrency, speed_at) < wanted:
            return "tokens_per_s"
        short = _last(fewest, goal.concurrency, lambda count: _rate(goal, count, speed_at) < wanted)
        fewest, binds = short + 1, "tokens_per_s"
    each = ceil(goal.concurrency / fewest)
    return Spread(fewest, each, speed_at(each), binds if fewest > 1 else "")


def at_worst(speed: Speed) -> Speed:
    """A speed at the bad end of its error."""
    return replace(
        speed,
        ttft_s=speed.ttft_s * speed.ttft_band.high,
        tpot_s=speed.tpot_s * speed.band.high,
        tokens_per_s=speed.promised_per_s,
    )


def on_the_mean(speed: Speed) -> Speed:
    """A speed as it is predicted."""
    return speed


def _broken(goal: Goal, speed: Speed) -> str:
    """Which limit a speed breaks; empty when none."""
    if goal.first_token_s and speed.ttft_s > goal.first_token_s:
        return "first_token_s"
    if goal.token_s and speed.tpot_s > goal.token_s:
        return "token_s"
    return ""


def _rate(goal: Goal, replicas: int, speed_at: SpeedAt) -> float:
    """What all replicas answer together when the requests are shared out (tokens per second)."""
    each = ceil(goal.concurrency / replicas)
    # Some replicas have one request less, so that all of them together have as many as there are.
    return speed_at(each).tokens_per_s * goal.concurrency / each


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Find the largest count for which something holds; it holds for the smallest and not for the largest."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
