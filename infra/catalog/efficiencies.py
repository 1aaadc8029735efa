"""Efficiencies: what share of a GPU's peaks engines reach, fitted on published measurements, and how far off that is.

The data file says how it was made; ``python -m tests.bench.planner_accuracy.publish`` makes it anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from infra.catalog.gpus import Gpu

Kind = Literal["dense", "mixture"]
"""Models without experts and with them; the latter are harder to tell."""

ALL = "all"
"""Level that holds for every engine and GPU."""

SHARES = ("bandwidth", "expert_bandwidth", "cache_bandwidth", "compute", "format_gain")
"""Figures that no product of factors may lift above 1."""


@dataclass(frozen=True, slots=True)
class Efficiency:
    """What an engine makes of a GPU."""

    bandwidth: float
    """Share of the memory's peak bandwidth while weights are read."""
    expert_bandwidth: float
    """The same while experts are read."""
    cache_bandwidth: float
    """The same while cached keys and values are read."""
    compute: float
    """Share of the peak of bf16 arithmetic."""
    format_gain: float
    """Exponent of the speed-up that a smaller format promises: 0 none of it, 1 all of it."""
    exchange_s: float
    """What a collective takes at least (seconds)."""
    layer_s: float
    """What a layer takes besides reading and arithmetic (seconds)."""
    step_s: float
    """What a pass takes besides its layers (seconds)."""
    request_s: float
    """What each request of a batch adds to a pass (seconds)."""
    first_s: float
    """What a request takes before its prompt is read (seconds)."""
    queue: float
    """Share of each other request's prompt that a new one waits for, while every request is followed by a new one."""


@dataclass(frozen=True, slots=True)
class Range:
    """Span of a quantity, ends included."""

    least: float
    most: float

    def holds(self, value: float) -> bool:
        """Whether a value lies in it."""
        return self.least <= value <= self.most


@dataclass(frozen=True, slots=True)
class Bands:
    """Where nine of ten measurements lay, as factors of what a fit that had not seen their model predicted."""

    ttft: Range
    tpot: Range
    promise: float
    """Share of predicted tokens per second to count on: what all but one run in a hundred of the kind reached, and
    every run of this engine on this GPU."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Efficiencies by level, with what they were fitted on."""

    effects: Mapping[str, Mapping[str, float]]
    """Level → name → figure for ``all``, factor on it for every other level."""
    bands: Mapping[str, Mapping[str, Bands]]
    """Kind → ``all`` or engine on GPU → error."""
    rows: Mapping[str, int]
    """Engine on GPU → measurements (count)."""
    models: Mapping[str, tuple[str, ...]]
    """Engine on GPU → what they are of."""
    formats: Mapping[str, tuple[str, ...]]
    """Kind → formats of weights."""
    ranges: Mapping[str, Range]
    """Spans of prompt, output, concurrency (of one data-parallel rank), tensor and data ranks, by name."""
    date: str
    source: str

    def efficiency(self, kind: Kind, engine: str, gpu: Gpu) -> Efficiency:
        """Product of what every level says that was measured."""
        known = [self.effects[level] for level in levels(kind, engine, gpu) if level in self.effects]
        return Efficiency(**{field.name: _product(known, field.name) for field in fields(Efficiency)})

    def band(self, kind: Kind, engine: str, gpu: Gpu, *, is_extrapolated: bool) -> Bands:
        """Error of an engine on a GPU, or of all where few were measured; outside of what was, the widest of all."""
        known = self.bands[kind]
        own = known.get(pair(engine, gpu), known[ALL])
        if not is_extrapolated:
            return own
        ttft, tpot = _hull([row.ttft for row in known.values()]), _hull([row.tpot for row in known.values()])
        return Bands(ttft, tpot, own.promise)


def levels(kind: Kind, engine: str, gpu: Gpu) -> tuple[str, ...]:
    """Levels that may say something about a kind of model, an engine and a GPU, the most general first."""
    return (ALL, kind, engine, generation(gpu), pair(engine, gpu))


def generation(gpu: Gpu) -> str:
    """Level of GPUs with the same units; the name of the family is not enough, as Blackwell is two of them."""
    return f"compute capability {gpu.capability[0]}"


def pair(engine: str, gpu: Gpu) -> str:
    """Level of one engine on one GPU."""
    return f"{engine} on {gpu.name}"


@cache
def published() -> Fit:
    """The fit that plans use."""
    data: dict[str, Any] = json.loads((files("infra.catalog") / "efficiencies.json").read_text(encoding="utf-8"))
    return Fit(
        effects=data["effects"],
        bands={
            kind: {
                level: Bands(Range(*row["ttft"]), Range(*row["tpot"]), row["promise"]) for level, row in known.items()
            }
            for kind, known in data["bands"].items()
        },
        rows={level: row["rows"] for level, row in data["seen"].items()},
        models={level: tuple(row["models"]) for level, row in data["seen"].items()},
        formats={kind: tuple(names) for kind, names in data["formats"].items()},
        ranges={name: Range(*span) for name, span in data["ranges"].items()},
        date=data["made"]["date"],
        source=data["made"]["source"],
    )


def _product(known: list[Mapping[str, float]], name: str) -> float:
    total = 1.0
    for effects in known:
        total *= effects.get(name, 1.0)
    return min(1.0, total) if name in SHARES else total


def _hull(spans: list[Range]) -> Range:
    return Range(min(span.least for span in spans), max(span.most for span in spans))
