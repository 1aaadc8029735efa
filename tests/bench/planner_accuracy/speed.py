"""How right predicted speed is: every published run, judged by figures that were fitted without its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from infra.catalog.efficiencies import ALL, pair, published
from tests.bench.planner_accuracy import throughput
from tests.bench.planner_accuracy.fit import Floats, fit, held_out, plain, predicted
from tests.bench.planner_accuracy.publish import FILE, bands
from tests.bench.planner_accuracy.runs import Case, cases
from tests.bench.planner_accuracy.split import SEED, calibration

BARS = {"time between tokens": 0.15, "time to first token": 0.30}
"""Median errors of dense models that the figures have to keep (shares)."""

MOVED = 0.02
"""Figures that plans use may be off a new fit by this: whether a few runs are judged hangs on the memory rules."""

OVER = 0.10
"""Promises above what was measured by more than this are counted (share)."""

SHARE = 0.05
"""Runs that a promise may be too high for; a band leaves out one in twenty at each end (share)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Runs with what was predicted of them (seconds)."""

    runs: Sequence[Case]
    ttft: Floats
    tpot: Floats

    def by(self, key: Callable[[Case], str]) -> dict[str, Judged]:
        """Groups of them by name."""
        held: dict[str, list[int]] = {}
        for index, run in enumerate(self.runs):
            held.setdefault(key(run), []).append(index)
        return {
            name: Judged([self.runs[index] for index in own], self.ttft[own], self.tpot[own])
            for name, own in sorted(held.items())
        }

    @property
    def errors(self) -> tuple[Floats, Floats]:
        """Predicted over measured, less 1: time between tokens, time to the first one."""
        tpot, ttft = _column(run.tpot_s for run in self.runs), _column(run.ttft_s for run in self.runs)
        return self.tpot / tpot - 1, self.ttft / ttft - 1

    def rate_errors(self, bad: Floats) -> Floats:
        """Tokens per second over measured, less 1, with times between tokens longer by a factor for each run."""
        output = _column(run.load.output for run in self.runs)
        measured = _column(run.ttft_s + (run.load.output - 1) * run.tpot_s for run in self.runs)
        return measured / ((self.ttft + (output - 1) * self.tpot) * bad) - 1


def promised(every: Judged) -> Floats:
    """Errors of rates at the bad end of bands that were made without the model."""
    errors = np.zeros(len(every.runs))
    for model in sorted({run.model for run in every.runs}):
        others = np.array([run.model != model for run in every.runs])
        rest = [run for run in every.runs if run.model != model]
        for kind in ("dense", "mixture"):
            known = bands(rest, every.ttft[others], every.tpot[others], kind)
            own = [index for index, run in enumerate(every.runs) if (run.model, run.kind) == (model, kind)]
            part = Judged([every.runs[index] for index in own], every.ttft[own], every.tpot[own])
            errors[own] = part.rate_errors(_column(_bad(run, known) for run in part.runs))
    return errors


def _bad(run: Case, known: dict[str, dict[str, list[float]]]) -> float:
    """Bad end of the band that a plan would take."""
    return known.get(pair(run.engine, run.gpu), known[ALL])["tpot"][1]


def _column(values: Iterable[float]) -> Floats:
    return np.array(list(values), dtype=np.float64)


def main() -> int:
    """Print the table; 0 when every bar holds and plans use what the runs give."""
    runs, refused = cases()
    every = Judged(runs, *held_out(runs))
    print("Speed. Each model is predicted by figures fitted to the other models; errors are predicted over measured.")
    for line in table(every):
        print(line)
    print(_half(runs))
    _print_refused(refused, len(runs))
    found, refused = throughput.figures()
    print("\nMost tokens per second and GPU with the largest batch that memory holds.")
    print("None of these rows was fitted to, though other rows of some of these models were.")
    for line in throughput.table(found):
        print(line)
    _print_refused(refused, len(found))
    print()
    verdicts = list(_verdicts(every))
    for holds, text in verdicts:
        print(f"{'holds' if holds else 'FAILS'}  {text}")
    return 0 if all(holds for holds, _ in verdicts) else 1


def _print_refused(refused: dict[str, int], judged: int) -> None:
    print(f"\nNot judged, {sum(refused.values())} of {sum(refused.values()) + judged} rows:")
    for reason, count in sorted(refused.items(), key=lambda item: -item[1]):
        print(f"{count:6d}  {reason}")


def table(every: Judged) -> Iterator[str]:
    """Yield lines of errors: all, by model, by engine and GPU; dense models first."""
    heads = "".join(f"{name:>7}" for name in ("median", "mean", "bias", "p90"))
    yield f"{'':44}{'rows':>5}   {'between tokens':^28}   {'first token':^28}"
    yield f"{'':44}{'':>5}   {heads}   {heads}"
    for kind, part in every.by(lambda run: run.kind).items():
        yield _line(f"{kind}, plain roofline", Judged(part.runs, *plain(part.runs)))
        yield _line(f"{kind}, all", part)
        versions = part.by(lambda run: "given" if run.is_versioned else "blank")
        yield from (_line(f"{kind}, engine's version {name}", own) for name, own in versions.items())
        for key in (lambda run: run.model, lambda run: pair(run.engine, run.gpu)):
            yield from (_line(f"  {name}", own) for name, own in part.by(key).items())


def _line(name: str, part: Judged) -> str:
    shown = [f"{name:44}{len(part.runs):5d}"]
    for errors in part.errors:
        sizes = np.abs(errors)
        shown.append(
            f"{np.median(sizes):7.1%}{np.mean(sizes):7.0%}{np.median(errors):+7.0%}{np.quantile(sizes, 0.9):7.0%}"
        )
    return "   ".join(shown)


def _half(runs: Sequence[Case]) -> str:
    """Fit to half of the models, drawn by seed, and judge the other half."""
    models = calibration(run.model for run in runs)
    rest = [run for run in runs if run.model not in models]
    part = Judged(rest, *predicted(fit([run for run in runs if run.model in models]), rest))
    heading = f"\nFitted to half of the models, drawn by seed {SEED}: {', '.join(sorted(models))}; the other half:"
    return "\n".join((heading, *(_line(f"{kind}, all", own) for kind, own in part.by(lambda run: run.kind).items())))


def _verdicts(every: Judged) -> Iterator[tuple[bool, str]]:
    """Yield what has to hold, and whether it does."""
    dense = every.by(lambda run: run.kind)["dense"]
    for (name, bar), errors in zip(BARS.items(), dense.errors, strict=True):
        found = float(np.median(np.abs(errors)))
        yield found <= bar, f"{name}, dense models that were not fitted: median {found:.1%}, at most {bar:.0%}"
    over = promised(every) > OVER
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
