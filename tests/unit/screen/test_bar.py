"""The bar of a rank's memory is drawn to scale and never too long."""

from __future__ import annotations

import pytest

from infra.screen.bar import bar, parts
from tests.unit.fit.plans import single

FITS = single("llama-8b", "h100", "0.32.0").memory
TOO_LARGE = single("llama-8b", "l4", "0.32.0", utilisation=0.5).memory


@pytest.mark.parametrize("width", [20, 98, 178])
@pytest.mark.parametrize("memory", [FITS, TOO_LARGE], ids=["fits", "does not"])
def test_a_bar_is_as_wide_as_asked(memory: object, width: int) -> None:
    """Whatever the shares round to."""
    assert len(bar(memory, width).plain) == width  # type: ignore[arg-type]  # parametrize loses the type


def test_parts_add_up_to_the_memory() -> None:
    """What is kept back is a part like the others."""
    assert sum(part.size for part in parts(FITS)) == FITS.total


def test_shares_are_to_scale() -> None:
    """A part of a fifth of the memory takes a fifth of the bar."""
    drawn = bar(FITS, 1000).plain.count("█")
    assert drawn == pytest.approx(1000 * FITS.weights / FITS.total, abs=1)


def test_what_is_there_is_seen() -> None:
    """The smallest part has a column of its own."""
    assert {part.glyph for part in parts(FITS)} == set(bar(FITS, 40).plain)
