"""Sizes and durations are printed one way."""

from __future__ import annotations

import pytest

from infra.units import GIB, ceil_div, duration, gib


@pytest.mark.parametrize(("value", "by", "want"), [(0, 8, 0), (1, 8, 1), (8, 8, 1), (9, 8, 2)], ids=str)
def test_division_rounds_up(value: int, by: int, want: int) -> None:
    """A started host is a host."""
    assert ceil_div(value, by) == want


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        (0, "0 s"),
        (119, "119 s"),
        (120, "2 min"),
        (121, "3 min"),
        (3599, "1 h 00 min"),
        (3600, "1 h 00 min"),
        (3660, "1 h 01 min"),
        (90_000, "25 h 00 min"),
    ],
    ids=str,
)
def test_a_duration_reads_well(seconds: int, want: str) -> None:
    """Rounded up, so that a limit is never printed as less than it is."""
    assert duration(seconds) == want


@pytest.mark.parametrize(
    ("size", "want"),
    [(0, "0.0 GiB"), (88.3 * GIB, "88.3 GiB"), (2000 * GIB, "2,000.0 GiB"), (-GIB, "-1.0 GiB")],
    ids=str,
)
def test_a_size_is_in_gib(size: float, want: str) -> None:
    """One decimal, thousands apart."""
    assert gib(size) == want
