"""How right predicted speed is: every published run, judged by figures that were fitted without its model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infra.catalog.efficiencies import ALL, pair, published
from tests.bench.planner_accuracy import throughput
from tests.bench.planner_accuracy.fit import Floats, by_parts, fit, held_out, plain, predicted
from tests.bench.planner_accuracy.publish import FILE, RARE, bands
from tests.bench.planner_accuracy.runs import Case, cases
from tests.bench.planner_accuracy.split import FOLDS, SEED, calibration, folds

BARS = {"time between tokens": 0.15, "time to first token": 0.30}
"""Median errors of dense models that the figures have to keep (shares)."""

MOVED = 0.02
"""Figures that plans use may be off a new fit by this: whether a few runs are judged hangs on the memory rules."""

OVER = throughput.OVER
"""What is counted on may lie above what was measured by this (share)."""

SEEDS = (1, 2, 3, 4, 5)
"""Of the five draws that are shown beside the verdict."""


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

    def promised(self, known: Callable[[Case], float]) -> Floats:
        """What is counted on of tokens per second over measured, less 1, by the share of each run."""
        output = _column(run.load.output for run in self.runs)
        predicted_rate = output / (self.ttft + (output - 1) * self.tpot)
        return predicted_rate * _column(map(known, self.runs)) / _column(run.rate for run in self.runs) - 1


def promised(every: Judged) -> Floats:
    """What is counted on over measured, less 1, by shares that were found without the model."""
    errors = np.zeros(len(every.runs))
    for model in sorted({run.model for run in every.runs}):
        others = np.array([run.model != model for run in every.runs])
        rest = [run for run in every.runs if run.model != model]
        for kind in ("dense", "mixture"):
            known = bands(rest, every.ttft[others], every.tpot[others], kind)
            own = [index for index, run in enumerate(every.runs) if (run.model, run.kind) == (model, kind)]
            part = Judged([every.runs[index] for index in own], every.ttft[own], every.tpot[own])
            errors[own] = part.promised(lambda run, known=known: _share(run, known))  # type: ignore[misc]
    return errors


def _share(run: Case, known: dict[str, dict[str, Any]]) -> float:
    """Share of a rate that a plan counts on."""
    return float(known.get(pair(run.engine, run.gpu), known[ALL])["promise"])


def _shared(run: Case) -> float:
    """The same with the figures that plans use."""
    return published().band(run.kind, run.engine, run.gpu, is_extrapolated=False).promise


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
    print(_drawn(runs))
    _print_refused(refused, len(runs))
    found, refused = throughput.figures()
    print("\nMost tokens per second and GPU with the largest batch that memory holds.")
    print("None of these rows was fitted to, though other rows of some of these models were.")
    for line in throughput.table(found):
        print(line)
    _print_refused(refused, len(found))
    print()
    verdicts = [*_verdicts(every), throughput.verdict(found)]
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
    """Fit to half of the models, drawn by seed, and judge the other half; shown, not judged."""
    models = calibration(run.model for run in runs)
    rest = [run for run in runs if run.model not in models]
    part = Judged(rest, *predicted(fit([run for run in runs if run.model in models]), rest))
    heading = f"\nShown, not judged: fitted to half of the models, drawn by seed {SEED} ({', '.join(sorted(models))})"
    lines = (_line(f"{kind}, the other half", own) for kind, own in part.by(lambda run: run.kind).items())
    return "\n".join((heading, *lines))


def _drawn(runs: Sequence[Case]) -> str:
    """Fit to four fifths of the models and judge the rest, by five draws; shown, not judged."""
    found = []
    for seed in SEEDS:
        part = Judged(runs, *by_parts(runs, folds((run.model for run in runs), seed)))
        found.append([np.median(np.abs(errors)) for errors in part.by(lambda run: run.kind)["dense"].errors])
    spans = [
        f"{name} {min(column):.1%} to {max(column):.1%}, median {np.median(column):.1%}"
        for name, column in zip(BARS, zip(*found, strict=True), strict=True)
    ]
    return (
        f"Shown, not judged: {FOLDS} parts by {len(SEEDS)} seeds, dense models: {'; '.join(spans)}.\n"
        "Three dense models were measured. A draw that leaves out two of them at a time has one left to tell how dense "
        "models\nare let in and read, which is what a first token waits for; so the verdict leaves out one at a time."
    )


def _verdicts(every: Judged) -> Iterator[tuple[bool, str]]:
    """Yield what has to hold, and whether it does."""
    dense = every.by(lambda run: run.kind)["dense"]
    for (name, bar), errors in zip(BARS.items(), dense.errors, strict=True):
        found = float(np.median(np.abs(errors)))
        yield found <= bar, f"{name}, dense models that were not fitted: median {found:.1%}, at most {bar:.0%}"
    yield _over("models that were not fitted", every, promised(every), RARE)
    yield _over("figures that plans use", every, _plans(every).promised(_shared), 0.0)
    moved = _moved(fit(every.runs))
    yield moved <= MOVED, f"{FILE.name} is what the runs give: at most {moved:.1%} off, at most {MOVED:.0%} allowed"


def _over(name: str, every: Judged, errors: Floats, bar: float) -> tuple[bool, str]:
    """Whether more than was measured is counted on for no more runs than a bar (share) allows."""
    over, worst = errors > OVER, int(np.argmax(errors))
    run = every.runs[worst]
    return float(np.mean(over)) <= bar, (
        f"tokens per second, counted on above measured, {name}: {over.sum()} of {over.size} runs ({np.mean(over):.1%}) "
        f"by more than {OVER:.0%}, at most {bar:.0%}; the worst {errors[worst]:+.0%}, {run.model} in {run.form}, "
        f"{pair(run.engine, run.gpu)}"
    )


def _plans(every: Judged) -> Judged:
    """The runs as plans predict them."""
    effects = {level: dict(row) for level, row in published().effects.items()}
    return Judged(every.runs, *predicted(effects, every.runs))


def _moved(effects: dict[str, dict[str, float]]) -> float:
    """Largest distance of a figure that plans use from a new fit (share)."""
    used = published().effects
    if {level: set(row) for level, row in used.items()} != {level: set(row) for level, row in effects.items()}:
        return float("inf")
    return max(abs(used[level][name] / value - 1) for level, row in effects.items() for name, value in row.items())
