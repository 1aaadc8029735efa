"""Write the efficiencies that plans use: ``python -m tests.bench.planner_accuracy.publish``."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import infra.catalog.efficiencies as catalog
from infra.catalog.efficiencies import ALL, pair
from tests.bench.planner_accuracy.fit import Floats, fit, held_out
from tests.bench.planner_accuracy.runs import Case, cases

FILE = Path(catalog.__file__).with_name("efficiencies.json")
"""What plans read."""

SOURCE = "PyPI aiconfigurator-core 0.12.0, systems/silicon_sample.csv (Apache-2.0)"

LEAST_ROWS = 40
"""Runs of an engine on a GPU that make a band of its own (count)."""

TAILS = (0.05, 0.95)
"""Ends of a band, as quantiles of measured over predicted."""


def published(runs: Sequence[Case]) -> dict[str, Any]:
    """Figures fitted to all runs, with errors of fits that had not seen the model."""
    ttft, tpot = held_out(runs)
    known = sorted({pair(run.engine, run.gpu) for run in runs})
    kinds = ("dense", "mixture")
    return {
        "made": {
            "command": "python -m tests.bench.planner_accuracy.publish",
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "rows": len(runs),
            "models": sorted({run.model for run in runs}),
            "split": "bands: each model by a fit to all other models; figures: all rows; nothing is drawn, so no seed",
            "source": SOURCE,
        },
        "effects": fit(runs),
        "bands": {kind: bands(runs, ttft, tpot, kind) for kind in kinds},
        "seen": {level: _seen([run for run in runs if pair(run.engine, run.gpu) == level]) for level in known},
        "formats": {kind: sorted({run.form for run in runs if run.kind == kind}) for kind in kinds},
        "ranges": {
            "prompt": _range(run.load.prompt for run in runs),
            "output": _range(run.load.output for run in runs),
            "concurrency": _range(run.requests for run in runs),
            "tensor": _range(run.layout.tensor for run in runs),
            "data": _range(run.layout.data for run in runs),
        },
    }


def bands(runs: Sequence[Case], ttft: Floats, tpot: Floats, kind: str) -> dict[str, dict[str, list[float]]]:
    """Spans of measured over predicted by level, for one kind of model.

    No level is given a narrower band than all runs have: what a few models agree on says little about the next one.
    """
    held: dict[str, list[int]] = {}
    for index, run in enumerate(runs):
        for level in (ALL, pair(run.engine, run.gpu)) if run.kind == kind else ():
            held.setdefault(level, []).append(index)
    return {
        level: {
            "ttft": _span([[runs[index].ttft_s / ttft[index] for index in part] for part in (own, held[ALL])]),
            "tpot": _span([[runs[index].tpot_s / tpot[index] for index in part] for part in (own, held[ALL])]),
        }
        for level, own in sorted(held.items())
        if len(own) >= LEAST_ROWS
    }


def _span(groups: list[list[float]]) -> list[float]:
    """Ends of a band that holds all but the tails of each group."""
    ends = np.array([np.quantile(ratios, TAILS) for ratios in groups])
    return [round(float(ends[:, 0].min()), 3), round(float(ends[:, 1].max()), 3)]


def _seen(runs: list[Case]) -> dict[str, Any]:
    return {"rows": len(runs), "models": sorted({run.model for run in runs})}


def _range(values: Iterable[float]) -> list[float]:
    found = list(values)
    return [min(found), max(found)]


if __name__ == "__main__":
    FILE.write_text(json.dumps(published(cases()[0]), indent=1) + "\n", encoding="utf-8")
