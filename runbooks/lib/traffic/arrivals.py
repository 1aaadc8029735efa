"""When requests are due: an open loop, which knows nothing of answers."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

Arrivals = Literal["constant", "poisson"]
"""Evenly spaced, or each at random by itself as independent clients come."""


class Stretch(Protocol):
    """A while with one rate."""

    @property
    def rate(self) -> float:
        """Requests per second, on average."""

    @property
    def seconds(self) -> float | None:
        """How long (s); None: without end."""


def seeded(seed: int, purpose: str) -> random.Random:
    """Chance that can be repeated, apart for each purpose so that one does not disturb another."""
    return random.Random(f"{seed}/{purpose}")  # noqa: S311  guards nothing


def due_times(stretches: Sequence[Stretch], arrivals: Arrivals, rng: random.Random) -> Iterator[float]:
    """Yield when each request is due (s after the start), in order.

    Arrivals of rate 1 are stretched by the rate of the moment, so that a change of rate neither drops nor doubles one.
    """
    begin, wait = 0.0, _first(arrivals, rng)
    for stretch in stretches:
        end = math.inf if stretch.seconds is None else begin + stretch.seconds
        at = begin
        while stretch.rate > 0 and at + wait / stretch.rate < end:
            at += wait / stretch.rate
            yield at
            wait = _next(arrivals, rng)
        if stretch.rate > 0:
            wait -= (end - at) * stretch.rate
        begin = end


def _first(arrivals: Arrivals, rng: random.Random) -> float:
    """Wait for the first one: evenly spaced ones begin at once."""
    return 0.0 if arrivals == "constant" else rng.expovariate(1.0)


def _next(arrivals: Arrivals, rng: random.Random) -> float:
    return 1.0 if arrivals == "constant" else rng.expovariate(1.0)
