"""Rows of public logs turned into what the planner takes, or into the reason why they cannot be."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from infra.catalog.architecture import Architecture
from infra.catalog.calibration import Log
from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.configs import read
from infra.catalog.engines import ENGINES, Engine, engine_for
from infra.errors import ConfigError, Unknown
from infra.plan.layout import Layout, problems
from infra.plan.memory import Memory, Options, size, unseen
from tests.bench.planner_accuracy.gpus import KNOWN

CONFIGS = Path(__file__).parent / "data" / "configs"
"""``config.json`` of models that the catalog does not carry."""


class Unjudged(Exception):  # noqa: N818  a verdict, as Unknown is
    """The row does not say enough; the message says what is missing."""


@cache
def architecture(name: str) -> Architecture:
    """Shapes of a checkpoint, from the catalog or from the bench's own configs."""
    path = CONFIGS / f"{name.rsplit('/', maxsplit=1)[-1]}.json"
    try:
        if name in CHECKPOINTS:
            return CHECKPOINTS[name]
        if path.exists():
            return read(json.loads(path.read_text(encoding="utf-8")), name=name, source=str(path.name))
    except (ConfigError, Unknown) as error:
        raise Unjudged(f"shapes: {error}") from error
    raise Unjudged(f"shapes of {name} are not known")


def options(row: Log) -> Options:
    """Settings of a row; what it does not give is the engine's default."""
    return Options(
        utilisation=row.utilisation,
        max_len=row.max_len,
        max_seqs=row.max_seqs,
        batched_tokens=row.batched_tokens,
        kv_dtype=row.kv_dtype or "auto",
        quantisation=row.quantisation or None,
        block_tokens=row.block_tokens,
        prefix_caching=row.prefix_caching,
        speculative_tokens=row.speculative or 0,
        eager=row.eager,
        version=row.version,
    )


def layout_of(row: Log) -> Layout:
    """How a row dealt its model."""
    return Layout(row.tensor, row.pipeline, expert_parallel=row.expert_parallel)


def engine(row: Log) -> Engine:
    """Rules of the row's version."""
    if row.version is None:
        raise Unjudged("version of the engine is not given")
    found = engine_for(row.engine, row.version)
    if found is None:
        oldest = ".".join(map(str, ENGINES[row.engine][-1].since))
        raise Unjudged(f"{row.engine} {row.version[0]}.{row.version[1]} is older than our oldest rules, {oldest}")
    return found


def planned(row: Log) -> Memory:
    """What the planner says about a row."""
    if missing := _missing(row):
        raise Unjudged(missing)
    shapes, layout, rules = architecture(row.like), layout_of(row), engine(row)
    if reasons := problems(shapes, layout, rules, row.quantisation):
        raise Unjudged(f"layout: {reasons[0]}")
    if doubt := unseen(shapes, rules):
        raise Unjudged(doubt)
    try:
        return size(shapes, layout, KNOWN[row.gpu], rules, options(row))
    except (ConfigError, Unknown) as error:
        raise Unjudged(str(error)) from error


def _missing(row: Log) -> str:
    """What a row would have to say for a plan; empty when it says all."""
    if row.gpu and row.gpu not in KNOWN:
        return f"GPU {row.gpu} shares its memory with the host, or its total is not known"
    if row.kv_dtype == "not given":
        return "format of the cache and sizes of a batch are not given"
    needed = {"GPU": row.gpu, "utilisation": row.utilisation, "longest request": row.max_len}
    return ", ".join(f"{name} is not given" for name, value in needed.items() if not value)
