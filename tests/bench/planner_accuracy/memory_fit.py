"""Fit what the activation of an engine's versions needs, on the models drawn for it; the catalog holds the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from infra.catalog.calibration import Log, logs
from infra.catalog.engines import Engine
from infra.units import GIB
from tests.bench.planner_accuracy.cases import architecture, engine
from tests.bench.planner_accuracy.gpus import KNOWN


@dataclass(frozen=True, slots=True)
class Fit:
    """Constants of one line of versions, as rows of logs give them."""

    since: tuple[int, int]
    rows: int
    logit_bytes: float
    """Of each logit with its copies (bytes); taken from the catalog where all rows have one vocabulary."""
    persistent_gib: float


def fits(models: frozenset[str]) -> Iterator[Fit]:
    """Least squares over the last stages of the models' rows, by line of versions."""
    by_line: dict[tuple[int, int], list[Log]] = {}
    lines: dict[tuple[int, int], Engine] = {}
    for row in logs():
        if row.model in models and row.activation_gib and row.version and row.pipeline == 1:
            line = engine(row)
            lines[line.since] = line
            by_line.setdefault(line.since, []).append(row)
    for since, rows in by_line.items():
        yield _fit(lines[since], rows)


def _fit(line: Engine, rows: list[Log]) -> Fit:
    logits, rest = [], []
    for row in rows:
        shapes, batch = architecture(row.like), line.batch(KNOWN[row.gpu])
        logits.append((row.max_seqs or batch.seqs) * shapes.vocab / GIB)
        hidden = (row.batched_tokens or batch.tokens) * shapes.hidden * 2 / GIB
        rest.append((row.activation_gib or 0.0) - hidden)
    if np.ptp(logits) == 0:
        each = float(line.logit_bytes)
        return Fit(line.since, len(rows), each, float(np.mean(rest)) - each * logits[0])
    slope, constant = np.polyfit(logits, rest, 1)
    return Fit(line.since, len(rows), float(slope), float(constant))
