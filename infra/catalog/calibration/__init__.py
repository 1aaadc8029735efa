"""What engines logged when they started: the rows that the memory rules were fitted on, and those they are held to."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Log:
    """One start of an engine; None where its log, or whoever published it, does not say."""

    id: str
    model: str
    """As it was served."""
    like: str
    """Checkpoint of the same shapes."""
    gpu: str
    tensor: int
    pipeline: int
    expert_parallel: bool
    quantisation: str
    """Empty: that of the checkpoint."""
    kv_dtype: str
    """Empty: that of the model; ``not given``: the log does not say."""
    utilisation: float | None
    max_len: int | None
    engine: str
    version: tuple[int, int] | None
    batched_tokens: int | None
    max_seqs: int | None
    block_tokens: int | None
    prefix_caching: bool
    """On unless a row says no."""
    eager: bool
    speculative: int | None
    weights_gib: float | None
    """Of one GPU, as all figures (GiB)."""
    activation_gib: float | None
    non_torch_gib: float | None
    graphs_gib: float | None
    pool_gib: float | None
    tokens: int | None
    """Tokens of the cache as logged."""
    concurrency: float | None
    """At the longest request."""
    outcome: str
    """``serves`` or ``refuses``."""
    source: str


def read(lines: Iterable[str]) -> Iterator[Log]:
    """Read rows of a CSV whose header names the fields of ``Log``."""
    for row in csv.DictReader(lines):
        yield Log(**{field.name: _value(field.name, row) for field in fields(Log)})


@cache
def logs() -> tuple[Log, ...]:
    """All rows that come with the catalog."""
    text = files("infra.catalog.calibration").joinpath("logs.csv").read_text(encoding="utf-8")
    return tuple(read(text.splitlines()))


_TEXT = {"id", "model", "like", "gpu", "quantisation", "kv_dtype", "engine", "outcome", "source"}
_READERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys(_TEXT, str),
    **dict.fromkeys(("tensor", "pipeline"), int),
    **dict.fromkeys(("eager", "expert_parallel"), lambda text: text == "yes"),
    "prefix_caching": lambda text: text != "no",
}
"""What a field's text means, empty or not."""

_WHOLE = {"max_len", "batched_tokens", "max_seqs", "block_tokens", "speculative", "tokens"}


def _value(name: str, row: Mapping[str, str]) -> Any:
    text = row.get(name, "").strip()
    if name in _READERS:
        return _READERS[name](text)
    if not text:
        return None
    if name == "version":
        major, minor = text.split(".")[:2]
        return int(major), int(minor)
    return int(text) if name in _WHOLE else float(text)
