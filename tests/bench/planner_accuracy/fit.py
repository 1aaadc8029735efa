"""Fit efficiencies to measured runs.

Each figure is a product: one for all engines and GPUs, and factors for the engine, the generation and the engine on
the GPU. Factors are drawn towards 1, most of them so strongly that only many runs that agree move them. Least absolute
errors of the logarithms, by Gauss-Newton steps with reweighted squares; nothing in it is drawn by chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infra.catalog.efficiencies import Efficiency, Fit, levels
from infra.plan.speed.costs import Costs
from infra.plan.speed.times import times
from tests.bench.planner_accuracy.runs import Case

Floats = NDArray[np.float64]

START = Efficiency(
    bandwidth=0.75,
    expert_bandwidth=0.6,
    cache_bandwidth=0.6,
    compute=0.6,
    format_gain=0.7,
    exchange_s=10e-6,
    layer_s=20e-6,
    step_s=1e-3,
    request_s=10e-6,
    first_s=0.03,
    queue=0.08,
)
"""Where the search begins and what it is drawn to. Source: shares as aiconfigurator takes them, less what launches
cost; a wait for nearly a tenth of the others' prompts, as one of ten rounds of requests starts at once."""

PLAIN = Efficiency(0.8, 0.8, 0.8, 0.7, 1.0, 15e-6, 3e-6, 0.0, 0.0, 0.0, 0.0)
"""A roofline that nothing was fitted to. Source: planner-data, baseline."""

NAMES = tuple(field.name for field in fields(Efficiency))

DRAWN_TO_START = 3.0
"""Weight of the squared distance from ``START``, in runs' errors."""

DRAWN_TO_ONE = 100.0
"""Weight of a factor's squared distance from 1, in runs' errors."""

DRAWN_OF_KIND = 3.0
"""The same for the factors of a kind of model: dense ones and mixtures run different kernels."""

LOOSE = {("first_s", 2): 0.3, ("queue", 2): 3.0}
"""Figure and level (2: engine) whose factors are nearly free: how requests are let in is the engine's own."""

MIXTURES = 0.3
"""Weight of a run of a mixture, whose errors are other ones."""

SCALE = 6.0
"""Weight of a run that is the only one of its model on its machine."""

TTFT = 0.5
"""Weight of a time to the first token; half of what it measures is how requests were sent."""

CORNERS = (0.1, 0.05)
"""Errors of the logarithms of both times below which they count squared."""


def fit(cases: Sequence[Case]) -> dict[str, dict[str, float]]:
    """Find the figures of all levels.

    Returns:
        Level → name → figure for ``all``, factor for the others.
    """
    names, depths, member = _levels(cases)
    runs = _Runs(cases)
    theta = np.zeros((len(names), len(NAMES)))
    origin = theta.copy()
    origin[0] = theta[0] = np.log([getattr(START, name) for name in NAMES])
    drawn = np.array([[_drawn(name, depth) for name in NAMES] for depth in depths])
    best, damping = _loss(runs, theta, member, drawn, origin), 1e-2
    for _ in range(40):
        normal, slope = _normal(runs, theta, member, drawn, origin)
        while damping < 1e6:
            step = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), slope).reshape(theta.shape)
            tried = theta + np.clip(step, -0.7, 0.7)
            loss = _loss(runs, tried, member, drawn, origin)
            if loss < best:
                break
            damping *= 4
        else:
            break
        gained, best, theta, damping = best - loss, loss, tried, max(damping / 3, 1e-4)
        if gained < 1e-5 * best:
            break
    return {
        level: {name: float(f"{np.exp(value):.5g}") for name, value in zip(NAMES, row, strict=True)}
        for level, row in zip(names, theta, strict=True)
    }


def predicted(effects: dict[str, dict[str, float]], cases: Sequence[Case]) -> tuple[Floats, Floats]:
    """Times to the first token and between tokens (seconds), by figures of a fit."""
    part = Fit(effects, {}, {}, {}, {}, {}, "", "")
    made = [part.efficiency(case.kind, case.engine, case.gpu) for case in cases]
    columns: list[Any] = [np.array([getattr(row, name) for row in made]) for name in NAMES]
    return _Runs(cases).times(Efficiency(*columns))


def plain(cases: Sequence[Case]) -> tuple[Floats, Floats]:
    """Times by a roofline that nothing was fitted to (seconds)."""
    return _Runs(cases).times(PLAIN)


def held_out(cases: Sequence[Case]) -> tuple[Floats, Floats]:
    """Predict each model by a fit to all others: no run is judged by figures that it had a part in."""
    return by_parts(cases, [{model} for model in sorted({case.model for case in cases})])


def by_parts(cases: Sequence[Case], parts: Iterable[Collection[str]]) -> tuple[Floats, Floats]:
    """Predict the models of each part by a fit to those of all others."""
    ttft, tpot = np.zeros(len(cases)), np.zeros(len(cases))
    for part in parts:
        rest = [case for case in cases if case.model not in part]
        own = [index for index, case in enumerate(cases) if case.model in part]
        ttft[own], tpot[own] = predicted(fit(rest), [cases[index] for index in own])
    return ttft, tpot


class _Runs:
    """Runs as arrays, one value of each run."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.prompt, self.step = _columns([case.prompt for case in cases]), _columns([case.step for case in cases])
        # A plan's arithmetic takes arrays too, which its types do not say.
        self.requests: Any = np.array([case.requests for case in cases])
        self.output: Any = np.array([float(case.load.output) for case in cases])
        self.measured = np.log([[case.ttft_s for case in cases], [case.tpot_s for case in cases]])
        alike = Counter((case.model, case.engine, case.gpu.name) for case in cases)
        # Many runs of one model on one machine agree with each other for reasons that nobody wrote down.
        weight = [
            (MIXTURES if case.kind == "mixture" else 1.0) * alike[case.model, case.engine, case.gpu.name] ** -0.5
            for case in cases
        ]
        self.weight = SCALE * np.array([[TTFT], [1.0]]) * np.array(weight)

    def times(self, made: Efficiency) -> tuple[Floats, Floats]:
        """Predict both times (seconds)."""
        found: Any = times(
            self.prompt, self.step, made, requests=self.requests, others=self.requests - 1, output=self.output
        )
        return found[0], found[1]

    def logs(self, figures: Floats) -> Floats:
        """Logarithms of both times by logarithms of figures, one column a run."""
        columns: list[Any] = list(np.exp(figures))
        return np.log(np.stack(self.times(Efficiency(*columns))))


def _columns(rows: Sequence[Costs]) -> Costs:
    columns: list[Any] = [np.array([getattr(row, field.name) for row in rows]) for field in fields(Costs)]
    return Costs(*columns)


def _levels(cases: Sequence[Case]) -> tuple[list[str], list[int], Floats]:
    """Levels in order, how special each one is, and which runs belong to it."""
    of = [levels(case.kind, case.engine, case.gpu) for case in cases]
    found = {level: depth for depth, column in enumerate(zip(*of, strict=True)) for level in sorted(set(column))}
    return list(found), list(found.values()), np.array([[float(level in row) for row in of] for level in found])


def _drawn(name: str, depth: int) -> float:
    """Weight that draws a figure to where it starts."""
    return LOOSE.get((name, depth), (DRAWN_TO_START, DRAWN_OF_KIND, DRAWN_TO_ONE)[min(depth, 2)])


def _loss(runs: _Runs, theta: Floats, member: Floats, drawn: Floats, origin: Floats) -> float:
    error = runs.logs(theta.T @ member) - runs.measured
    size = np.sqrt(error**2 + np.array(CORNERS)[:, None] ** 2)
    return float((runs.weight * size).sum() + (drawn * (theta - origin) ** 2).sum())


def _normal(runs: _Runs, theta: Floats, member: Floats, drawn: Floats, origin: Floats) -> tuple[Floats, Floats]:
    """Normal matrix and right-hand side of a step; absolute errors as squares with weights of their own."""
    figures = theta.T @ member
    base = runs.logs(figures)
    error = runs.measured - base
    weight = (runs.weight / np.sqrt(error**2 + np.array(CORNERS)[:, None] ** 2) / 2).reshape(-1)
    slopes = []
    for index in range(len(NAMES)):
        moved = figures.copy()
        moved[index] += 1e-4
        slopes.append((runs.logs(moved) - base) / 1e-4)
    # Level by level, figure by figure, as ``theta`` has them.
    rows = np.array([(slope * one).reshape(-1) for one in member for slope in slopes])
    normal = (rows * weight) @ rows.T + np.diag(drawn.reshape(-1))
    return normal, (rows * weight) @ error.reshape(-1) - (drawn * (theta - origin)).reshape(-1)
