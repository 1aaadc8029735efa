"""Arrivals follow their rate and their seed, and nothing else."""

from __future__ import annotations

import statistics
from itertools import islice, pairwise

import pytest

from runbooks.lib.traffic.arrivals import Arrivals, due_times, seeded
from runbooks.lib.traffic.profile import Segment


def due(arrivals: Arrivals, *segments: tuple[float, float | None], seed: int = 1) -> list[float]:
    stretches = [Segment(rate=rate, seconds=seconds) for rate, seconds in segments]
    return list(islice(due_times(stretches, arrivals, seeded(seed, "test")), 100_000))


def test_constant_arrivals_are_evenly_spaced() -> None:
    """They begin at once, and none is due at the very end, which belongs to what follows."""
    assert due("constant", (2, 3)) == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]


def test_a_change_of_rate_drops_and_doubles_none() -> None:
    """What an arrival has waited at one rate counts at the next."""
    assert due("constant", (1, 2.5), (0, 10), (2, 1)) == [0.0, 1.0, 2.0, 12.75, 13.25]


def test_a_burst_is_a_segment_with_a_higher_rate() -> None:
    """Twice the rate for a while, then nothing, as the drill of a burst asks."""
    times = due("poisson", (10, 100), (20, 600), (0, 60), seed=7)
    counts = [sum(start <= at < end for at in times) for start, end in ((0, 100), (100, 700), (700, 760))]
    assert counts[0] == pytest.approx(1_000, rel=0.1)
    assert counts[1] == pytest.approx(12_000, rel=0.03)
    assert counts[2] == 0


def test_poisson_arrivals_are_independent() -> None:
    """Their gaps are spread as exponentials are: mean and deviation are one over the rate, and a P95 of three means."""
    gaps = [b - a for a, b in pairwise(due("poisson", (5, 4_000), seed=3))]
    assert statistics.mean(gaps) == pytest.approx(0.2, rel=0.03)
    assert statistics.stdev(gaps) == pytest.approx(0.2, rel=0.03)
    assert statistics.quantiles(gaps, n=20)[-1] == pytest.approx(0.6, rel=0.04)


def test_the_same_seed_gives_the_same_arrivals() -> None:
    """A run can be repeated; another seed gives another run."""
    assert due("poisson", (5, 20), seed=4) == due("poisson", (5, 20), seed=4)
    assert due("poisson", (5, 20), seed=4) != due("poisson", (5, 20), seed=5)


def test_the_last_segment_may_have_no_end() -> None:
    """Arrivals go on until somebody stops asking."""
    stretches = [Segment(rate=1, seconds=1), Segment(rate=10)]
    assert list(islice(due_times(stretches, "constant", seeded(1, "test")), 4)) == pytest.approx([0, 1.0, 1.1, 1.2])


def test_idling_without_end_ends_the_arrivals() -> None:
    """A last segment without rate and end yields nothing more, and does not hang."""
    assert due("constant", (1, 2), (0, None)) == [0.0, 1.0]
