"""How right predicted speed is: every published run, judged by figures that were fitted without its model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from infra.catalog.efficiencies import pair, published
from tests.bench.planner_accuracy.fit import Floats, fit, held_out, plain, predicted
from tests.bench.planner_accuracy.publish import FILE
from tests.bench.planner_accuracy.runs import Case, cases
from tests.bench.planner_accuracy.split import SEED, calibration

BARS = {"time between tokens": 0.15, "time to first token": 0.30}
"""Median errors of dense models that the figures have to keep (shares)."""

MOVED = 0.02
"""Figures that plans use may be off a new fit by this: whether a few runs are judged hangs on the memory rules."""

OVER = 0.10
"""Promises above what was measured by more than this are counted (share)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Runs with what was predicted of them (seconds)."""

    runs: Sequence[Case]
    ttft: Floats
    tpot: Floats

    def of(self, wanted: Callable[[Case], bool]) -> Judged:
        """Those of them that are wanted."""
        held = [index for index, run in enumerate(self.runs) if wanted(run)]
        return Judged([self.runs[index] for index in held], self.ttft[held], self.tpot[held])

    @property
    def ttft_errors(self) -> Floats:
        """Predicted over measured, less 1."""
        return self.ttft / np.array([run.ttft_s for run in self.runs]) - 1

    @property
    def tpot_errors(self) -> Floats:
        """Predicted over measured, less 1."""
        return self.tpot / np.array([run.tpot_s for run in self.runs]) - 1

    @property
    def rate_errors(self) -> Floats:
        """Tokens per second at the bad end of the error, over measured, less 1."""
        fitted = published()
        bad = [fitted.band(run.kind, run.engine, run.gpu, is_extrapolated=False).tpot.most for run in self.runs]
        measured = np.array([run.ttft_s + (run.load.output - 1) * run.tpot_s for run in self.runs])
        output = np.array([run.load.output for run in self.runs])
        return measured / ((self.ttft + (output - 1) * self.tpot) * np.array(bad)) - 1


def main() -> int:
    """Print the table; 0 when every bar holds and plans use what the runs give."""
    runs, refused = cases()
    every = Judged(runs, *held_out(runs))
    print("Speed. Each model is predicted by figures fitted to the other models; errors are predicted over measured.")
    for line in table(every):
        print(line)
    print(_half(runs))
    print(f"\nNot judged, {sum(refused.values())} of {sum(refused.values()) + len(runs)} rows:")
    for reason, count in sorted(refused.items(), key=lambda item: -item[1]):
        print(f"{count:6d}  {reason}")
    print()
    verdicts = list(_verdicts(every))
    for holds, text in verdicts:
        print(f"{'holds' if holds else 'FAILS'}  {text}")
    return 0 if all(holds for holds, _ in verdicts) else 1


def table(every: Judged) -> Iterator[str]:
    """Yield lines of errors: all, by model, by engine and GPU; dense models first."""
    yield f"{'':44}{'rows':>5}   {'between tokens':^27}   {'first token':^27}"
    yield f"{'':44}{'':>5}   {'median':>6}{'mean':>7}{'bias':>7}{'p90':>7}   {'median':>6}{'mean':>7}{'bias':>7}{'p90':>7}"
    for kind in ("dense", "mixture"):
        part = every.of(lambda run, kind=kind: run.kind == kind)
        yield _line(f"{kind}, plain roofline", Judged(part.runs, *plain(part.runs)))
        yield _line(f"{kind}, all", part)
        yield _line(f"{kind}, engine's version given", part.of(lambda run: run.is_versioned))
        yield _line(f"{kind}, engine's version blank", part.of(lambda run: not run.is_versioned))
        for model in sorted({run.model for run in part.runs}):
            yield _line(f"  {model}", part.of(lambda run, model=model: run.model == model))
        for level in sorted({pair(run.engine, run.gpu) for run in part.runs}):
            yield _line(f"  {level}", part.of(lambda run, level=level: pair(run.engine, run.gpu) == level))


def _line(name: str, part: Judged) -> str:
    shown = [f"{name:44}{len(part.runs):5d}"]
    for errors in (part.tpot_errors, part.ttft_errors) if part.runs else ():
        sizes = np.abs(errors)
        figures = (np.median(sizes), np.mean(sizes), np.median(errors), np.quantile(sizes, 0.9))
        shown.append(
            "".join(
                f"{figure:{'+' if index == 2 else ''}7.0%}" if index != 0 else f"{figure:6.1%}"
                for index, figure in enumerate(figures)
            )
        )
    return "   ".join(shown)


def _half(runs: Sequence[Case]) -> str:
    """Fit to half of the models, drawn by seed, and judge the other half."""
    models = calibration(run.model for run in runs)
    rest = [run for run in runs if run.model not in models]
    part = Judged(rest, *predicted(fit([run for run in runs if run.model in models]), rest))
    lines = [f"\nFitted to half of the models, drawn by seed {SEED}: {', '.join(sorted(models))}; the other half:"]
    for kind in ("dense", "mixture"):
        lines.append(_line(f"{kind}, all", part.of(lambda run, kind=kind: run.kind == kind)))
    return "\n".join(lines)


def _verdicts(every: Judged) -> Iterator[tuple[bool, str]]:
    """Yield what has to hold, and whether it does."""
    dense = every.of(lambda run: run.kind == "dense")
    for (name, bar), errors in zip(BARS.items(), (dense.tpot_errors, dense.ttft_errors), strict=True):
        found = float(np.median(np.abs(errors)))
        yield found <= bar, f"{name}, dense models that were not fitted: median {found:.1%}, at most {bar:.0%}"
    over = every.rate_errors > OVER
    share = float(np.mean(over))
    yield (
        share <= 0.05,
        f"tokens per second at the bad end more than {OVER:.0%} above measured: {over.sum()} rows, {share:.1%}",
    )
    moved = _moved(fit(every.runs))
    yield moved <= MOVED, f"{FILE.name} is what the runs give: at most {moved:.1%} off, at most {MOVED:.0%} allowed"


def _moved(effects: dict[str, dict[str, float]]) -> float:
    """Largest distance of a figure that plans use from a new fit (share)."""
    used = published().effects
    if {level: set(row) for level, row in used.items()} != {level: set(row) for level, row in effects.items()}:
        return float("inf")
    return max(abs(used[level][name] / value - 1) for level, row in effects.items() for name, value in row.items())
