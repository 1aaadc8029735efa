"""The measurement that people are shown, held as tests."""

from __future__ import annotations

import pytest

from infra.catalog.engines import engine_for
from infra.units import GIB
from tests.bench.planner_accuracy import memory, memory_fit

ROWS, FAILURES = memory.verdicts(), memory.reports()


@pytest.mark.parametrize("bar", memory.bars(ROWS, FAILURES), ids=lambda bar: bar.name)
def test_every_bar_holds(bar: memory.Bar) -> None:
    """On rows that nothing was fitted on."""
    assert bar.holds, f"{bar.name}: {bar.measured} of at most {bar.allowed}"


@pytest.mark.parametrize("row", [*ROWS, *FAILURES], ids=lambda row: row.row.id)
def test_a_row_is_judged_or_says_why_not(row: memory.Verdict) -> None:
    """Nothing is left out in silence."""
    assert row.starts is not None or row.why_not


@pytest.mark.parametrize("fit", list(memory_fit.fits(memory.fitted_on())), ids=lambda fit: f"vllm {fit.since}")
def test_the_catalog_holds_what_the_fit_gives(fit: memory_fit.Fit) -> None:
    """Whoever changes the split or the rows has to change the catalog with them."""
    line = engine_for("vllm", fit.since)
    assert line
    assert abs(line.logit_bytes - fit.logit_bytes) < 0.5
    assert abs(line.persistent_bytes / GIB - fit.persistent_gib) < 0.02
