"""Figures are those of their definitions."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from runbooks.lib.traffic.figures import figures_of, spread
from runbooks.lib.traffic.verdict import Sample, Verdict


def sample(verdict: Verdict = Verdict.OK, **changes: object) -> Sample:
    made = Sample(due=100.0, sent=100.01, tenant="research", model="tiny", verdict=verdict, ended=103.0)
    made.first_token, made.tokens, made.prompt_tokens = 1.0, 21, 7
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("values", "p50", "p95"),
    [([4.0], 4.0, 4.0), ([1.0, 3.0], 2.0, 2.9), ([3.0, 1.0, 2.0], 2.0, 2.9), (list(range(101)), 50.0, 95.0)],
    ids=["one", "two", "unsorted", "a hundred and one"],
)
def test_percentiles_are_exact(values: list[float], p50: float, p95: float) -> None:
    """They are interpolated between neighbours of all values."""
    found = spread(values)
    assert found is not None
    assert (found.p50, found.p95, found.count) == (pytest.approx(p50), pytest.approx(p95), len(values))


def test_no_sample_is_no_figure() -> None:
    """Without a value there is no percentile; zero would be a pass."""
    empty = figures_of([sample(Verdict.LOST)], 10.0)
    assert (spread([]), empty.ttft, empty.tpot, empty.itl, empty.e2e) == (None, None, None, None, None)


def test_time_per_token_leaves_the_first_out() -> None:
    """TPOT is (E2E − TTFT) / (output tokens − 1)."""
    assert sample().per_token == pytest.approx((3.0 - 1.0) / 20)
    assert sample(tokens=1).per_token is None
    assert sample(first_token=None).per_token is None


def test_waits_count_from_when_a_request_was_due() -> None:
    """A driver that is late makes no answer look faster."""
    assert (sample().whole, sample().lateness) == (pytest.approx(3.0), pytest.approx(0.01))


def test_only_complete_answers_have_figures() -> None:
    """A cut stream's quick first token must not better the figures; each request has one verdict all the same."""
    samples = [
        sample(),
        sample(Verdict.LATE, first_token=2.0),
        sample(Verdict.CUT, first_token=0.1),
        sample(Verdict.ABORTED),
    ]
    found = figures_of(samples, 10.0)
    assert found.ttft is not None
    assert (found.ttft.count, found.ttft.mean) == (2, pytest.approx(1.5))
    assert (found.requests, sum(found.counts.values()), found.failed, found.complete) == (4, 4, 1, 2)
    assert (found.tokens, found.tokens_per_second, found.requests_per_second) == (42, 4.2, 0.2)


def test_gaps_of_all_streams_are_one_spread() -> None:
    """ITL is over the gaps of all complete streams together."""
    found = figures_of([sample(gaps=array("f", [0.1, 0.2])), sample(gaps=array("f", [0.6])), sample()], 1.0)
    assert found.itl is not None
    assert (found.itl.count, found.itl.mean) == (3, pytest.approx(float(np.mean([0.1, 0.2, 0.6]))))
