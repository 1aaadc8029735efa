"""A log as a row that the memory rules can be fitted on and held to, as the catalog keeps them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Any

from infra.catalog.calibration import Log
from infra.errors import ConfigError, Unknown
from infra.fit.compare import Fit
from infra.fit.log import StartLog
from infra.plan.single import Single
from infra.units import GIB

COLUMNS = (*(field.name for field in fields(Log)), "date", "engine_version")
"""Those of the catalog's own rows, then the day it was read and the engine's exact version."""


def calibration_row(log: StartLog, fit: Fit, *, source: str, day: date) -> dict[str, str]:
    """Turn a log into one row; what it does not say stays empty.

    Args:
        source: where the log is from, as others can find it.
        day: when it was read.

    Raises:
        Unknown: the log says neither what the weights take nor what is left for the cache.
    """
    if log.figure("weights") is None and log.figure("pool") is None:
        raise Unknown("the log — says neither weights nor cache — one of them is needed for a row — give a whole log")
    version = log.settings.version or fit.single.version
    row = _row(log, fit.single, version, f"{day.isoformat()}-{source.rpartition('/')[2]}", source)
    said = {field.name: _cell(getattr(row, field.name)) for field in fields(Log)}
    return {**said, "date": day.isoformat(), "engine_version": version}


def store(row: Mapping[str, str], path: Path) -> None:
    """Add a row to a file of rows, which is made when it is not there.

    Raises:
        ConfigError: the file is something else, or cannot be written.
    """
    header = ",".join(COLUMNS)
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        if before and before.splitlines()[0] != header:
            raise ConfigError(
                f"--store {path} — begins with {before[:40]!r} — {header[:40]!r}… is wanted; name another"
            )
        text = io.StringIO("" if before.endswith("\n") or not before else "\n")
        text.seek(0, io.SEEK_END)
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        if not before:
            writer.writeheader()
        writer.writerow(row)
        with path.open("a", encoding="utf-8") as file:
            file.write(text.getvalue())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--store {path} — cannot be written ({error}) — name a file of yours") from error


def _row(log: StartLog, single: Single, version: str, name: str, source: str) -> Log:
    options = single.options
    return Log(
        id=name,
        model=log.settings.model or single.name,
        like=single.architecture.name,
        gpu=single.gpu.name if single.gpu else "",
        tensor=single.layout.tensor,
        pipeline=single.layout.pipeline,
        expert_parallel=single.layout.expert_parallel,
        quantisation=options.quantisation or "",
        kv_dtype="" if options.kv_dtype == "auto" else options.kv_dtype,
        utilisation=options.utilisation,
        max_len=options.max_len,
        engine=single.engine.name,
        version=_line(version),
        batched_tokens=options.batched_tokens,
        max_seqs=options.max_seqs,
        block_tokens=options.block_tokens,
        prefix_caching=options.prefix_caching,
        eager=options.eager,
        speculative=options.speculative_tokens or None,
        weights_gib=_gib(log.figure("weights")),
        activation_gib=_gib(log.figure("activation")),
        non_torch_gib=_gib(log.figure("non_torch")),
        graphs_gib=_gib(log.figure("graphs_estimated" if single.engine.counts_graphs else "graphs")),
        pool_gib=_gib(log.figure("pool")),
        tokens=_count(log.figure("tokens")),
        concurrency=log.figure("concurrency"),
        outcome="refuses" if log.failures else "serves",
        source=source,
    )


def _gib(size: float | None) -> float | None:
    return None if size is None else round(size / GIB, 4)


def _count(value: float | None) -> int | None:
    return None if value is None else round(value)


def _line(version: str) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", version)[:2]
    return int(major), int(minor)


def _cell(value: Any) -> str:
    """Write a value as the catalog's rows have it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ".".join(map(str, value)) if isinstance(value, tuple) else str(value)
