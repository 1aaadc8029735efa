"""Write the efficiencies that plans use: ``python -m tests.bench.planner_accuracy.publish``."""

from __future__ import annotations

import datetime
import json
import math
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

RARE = 0.01
"""Runs of a kind that may fall short of what is counted on (share)."""


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


def bands(runs: Sequence[Case], ttft: Floats, tpot: Floats, kind: str) -> dict[str, dict[str, Any]]:
    """Spans of measured over predicted by level, for one kind of model, and what to count on of a rate.

    No level is given a narrower band than all runs have: what a few models agree on says little about the next one.
    """
    held: dict[str, list[int]] = {}
    for index, run in enumerate(runs):
        for level in (ALL, pair(run.engine, run.gpu)) if run.kind == kind else ():
            held.setdefault(level, []).append(index)
    first = [run.ttft_s / seconds for run, seconds in zip(runs, ttft, strict=True)]
    further = [run.tpot_s / seconds for run, seconds in zip(runs, tpot, strict=True)]
    rates = [run.rate / _rate(run, *seconds) for run, *seconds in zip(runs, ttft, tpot, strict=True)]
    found = {}
    for level, own in sorted(held.items()):
        if len(own) >= LEAST_ROWS:
            groups = own, held[ALL]
            found[level] = {
                "ttft": _span([[first[index] for index in group] for group in groups]),
                "tpot": _span([[further[index] for index in group] for group in groups]),
                "promise": _promise([rates[index] for index in held[ALL]], [rates[index] for index in own]),
            }
    return found


def _span(groups: list[list[float]]) -> list[float]:
    """Ends of a band that holds all but the tails of each group."""
    ends = np.array([np.quantile(ratios, TAILS) for ratios in groups])
    return [round(float(ends[:, 0].min()), 3), round(float(ends[:, 1].max()), 3)]


def _promise(every: list[float], own: list[float]) -> float:
    """Share of a predicted rate that nearly all runs of a kind and all of one engine on one GPU reached."""
    least = float(np.quantile(every, RARE))
    return math.floor(1000 * (least if len(own) == len(every) else min(least, *own))) / 1000


def _rate(run: Case, ttft_s: float, tpot_s: float) -> float:
    """Answer tokens of one request by predicted times (tokens/s)."""
    return run.load.output / (ttft_s + (run.load.output - 1) * tpot_s)


def _seen(runs: list[Case]) -> dict[str, Any]:
    return {"rows": len(runs), "models": sorted({run.model for run in runs})}


def _range(values: Iterable[float]) -> list[float]:
    found = list(values)
    return [min(found), max(found)]


if __name__ == "__main__":
    FILE.write_text(json.dumps(published(cases()[0]), indent=1) + "\n", encoding="utf-8")
