"""Efficiencies are shares and times that a GPU can have, and their errors widen away from what was measured."""

from __future__ import annotations

from typing import get_args

import pytest

from infra.catalog.efficiencies import ALL, SHARES, Kind, levels, pair, published
from infra.catalog.engines import ENGINES
from infra.catalog.gpus import GPUS

KINDS = get_args(Kind)


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS.keys())
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_possible(kind: Kind, engine: str, gpu: object) -> None:
    """Nothing reads or computes faster than its peak, and nothing takes less than no time."""
    made = published().efficiency(kind, engine, gpu)  # type: ignore[arg-type]
    assert all(0.1 < getattr(made, name) <= 1 for name in SHARES)
    assert all(0 <= getattr(made, name) < 1 for name in ("exchange_s", "layer_s", "step_s", "request_s", "first_s"))


@pytest.mark.parametrize("kind", KINDS)
def test_no_engine_on_a_gpu_is_surer_than_all_together(kind: Kind) -> None:
    """Each band holds the band of all runs of the kind, and that one holds the prediction."""
    known = published().bands[kind]
    for row in known.values():
        for own, every in ((row.ttft, known[ALL].ttft), (row.tpot, known[ALL].tpot)):
            assert own.least <= every.least < 1 < every.most <= own.most


@pytest.mark.parametrize("kind", KINDS)
def test_the_band_outside_of_what_was_measured_is_the_widest(kind: Kind) -> None:
    """An extrapolation is never given a narrower error than any measured engine and GPU."""
    known = [row.tpot for row in published().bands[kind].values()]
    wide = published().band(kind, "tgi", GPUS["l4"], is_extrapolated=True).tpot
    assert all(wide.least <= row.least and row.most <= wide.most for row in known)


def test_an_engine_that_was_not_measured_takes_what_its_gpu_generation_shows() -> None:
    """Nothing is known of TGI: on an H100 it gets the figures of all engines on Hopper."""
    fit, gpu = published(), GPUS["h100"]
    known = [level for level in levels("dense", "tgi", gpu) if level in fit.effects]
    assert known == [ALL, "dense", "compute capability 9"]
    assert fit.efficiency("dense", "tgi", gpu) == fit.efficiency("dense", "lightllm", gpu)


def test_what_a_figure_rests_on_can_be_named() -> None:
    """Each engine and GPU with factors of its own has rows and models, and all rows are counted."""
    fit = published()
    assert all(fit.rows[level] and fit.models[level] for level in fit.effects if " on " in level)
    assert pair("vllm", GPUS["h200"]) in fit.rows
    assert "aiconfigurator-core" in fit.source
