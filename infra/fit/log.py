"""A start-up log, read: which engine, how it was started, what each rank said, and what stopped it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from infra.errors import Unknown
from infra.fit.settings import SAID_BY, VERSION_MARKS, Settings, settings
from infra.fit.wording import WORDINGS, Wording

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_RANK = re.compile(
    r"\(Worker_(?P<worker>(?:[A-Z]+\d+_?)+)|\(VllmWorker rank=(?P<rank>\d+)|\((?P<process>VllmWorkerProcess pid=\d+)"
    r"|\((?P<ray>RayWorkerWrapper pid=\d+)|\(EngineCore_(?P<core>DP\d+)|\[(?P<nvidia>RANK \d+)\]"
    r"|\bRank (?P<loads>\d+) uses|\[gpu_id=(?P<gpu>\d+)\]|\d\d:\d\d:\d\d (?P<sglang>(?:[A-Z]+\d+ ?)+)\]"
)
_STARTS = (
    "non-default args", "args: Namespace(", "server_args=ServerArgs(", "text_generation_launcher: Args {",
    "all start args:",
)  # fmt: skip
"""The line with which one start of an engine begins, where it prints one."""

_MARKS = tuple(dict.fromkeys((*SAID_BY, *VERSION_MARKS, *(w.mark for ws in WORDINGS.values() for w in ws))))
"""Text that a line has which may tell something; all others are chatter."""

LARGEST = frozenset({"weights", "activation", "non_torch", "graphs", "graphs_estimated", "load", "engine"})
"""Figures of which the largest rank counts; of all others the smallest does."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A line with which the engine gave up."""

    what: str
    line: str
    """As the engine wrote it, without its prefix."""


@dataclass(frozen=True, slots=True)
class StartLog:
    """One start of an engine."""

    engine: str
    """As the catalog names it."""
    settings: Settings
    ranks: Mapping[str, Mapping[str, float]]
    """Figures of each rank that wrote some, in bytes, seconds and counts; the empty name stands for a single one."""
    failures: tuple[Failure, ...]
    starts: int
    """Starts that the file holds (count); the last one that says something was read."""

    def figure(self, name: str) -> float | None:
        """One figure over all ranks: the tightest one; None when no rank said it."""
        values = [figures[name] for figures in self.ranks.values() if name in figures]
        if not values:
            return None
        return max(values) if name in LARGEST else min(values)

    @property
    def tells_outcome(self) -> bool:
        """Whether it goes as far as the cache, or as the line with which the engine gave up."""
        return bool(self.failures) or self.figure("tokens") is not None or self.figure("pool") is not None

    @property
    def workers(self) -> int:
        """Ranks that said what their weights take (count)."""
        return sum("weights" in figures for figures in self.ranks.values())


def read(lines: Iterable[str]) -> StartLog:
    """Read a log line by line; of what tells nothing, nothing is kept.

    Raises:
        Unknown: it has no line that any engine we know writes with a figure.
    """
    last: StartLog | None = None
    starts, count, is_blank = 0, 0, True
    for start in _starts(lines):
        starts += 1
        count += start.lines
        is_blank = is_blank and start.is_blank
        last = _read(start.telling) or last
    if last:
        return replace(last, starts=starts)
    if is_blank:
        raise Unknown("the log — is empty — the whole output of an engine's start is needed — give that")
    raise Unknown(
        f"the log — has no figure in {count:,} lines — lines of {', '.join(WORDINGS)} about weights, cache or "
        "graphs are needed — give the output from the engine's first line, at log level INFO"
    )


@dataclass(slots=True)
class _Start:
    """Lines of one start: those that may tell something, and how many there are."""

    telling: list[str]
    lines: int = 0
    is_blank: bool = True
    has_begun: bool = False


def _starts(lines: Iterable[str]) -> Iterator[_Start]:
    """Cut a file into the starts that it holds; what precedes the first one, such as a banner, belongs to it."""
    start = _Start([])
    for line in lines:
        if any(mark in line for mark in _STARTS):
            if start.has_begun:
                yield start
                start = _Start([])
            start.has_begun = True
        start.lines += 1
        start.is_blank = start.is_blank and not line.strip()
        if any(mark in line for mark in _MARKS):
            start.telling.append(_COLOUR.sub("", line).rstrip())
    yield start


def _read(lines: list[str]) -> StartLog | None:
    read = {engine: _figures(lines, wordings) for engine, wordings in WORDINGS.items()}
    # A log that only says what went wrong has no figures to count.
    engine = max(read, key=lambda name: (sum(map(len, read[name][0].values())), len(read[name][1])))
    ranks, failures = read[engine]
    if not ranks and not failures:
        return None
    whole = {rank: derived(figures) for rank, figures in ranks.items()}
    return StartLog(engine, settings(lines), whole, failures, starts=1)


def _figures(
    lines: Iterable[str], wordings: Iterable[Wording]
) -> tuple[dict[str, dict[str, float]], tuple[Failure, ...]]:
    ranks: dict[str, dict[str, float]] = {}
    failures: dict[str, Failure] = {}
    wordings = tuple(wordings)
    for line in lines:
        for wording in wordings:
            figures = wording.figures(line)
            if figures is None:
                continue
            rank = ranks.setdefault(_rank(line), {})
            for name, value in figures.items():
                rank[name] = rank.get(name, 0) + value if name in wording.adds else value
            if wording.failure:
                failures[wording.failure] = Failure(wording.failure, _message(line, wording.mark))
    return {name: figures for name, figures in ranks.items() if figures}, tuple(failures.values())


def _rank(line: str) -> str:
    found = _RANK.search(line)
    return "" if found is None else next(text for text in found.groups() if text).strip()


def _message(line: str, mark: str) -> str:
    """The sentence of a line, from the name of the error on where it has one."""
    error = re.search(r"\b\w*Error: ", line)
    return line[error.end() if error else line.index(mark) :]


def derived(figures: Mapping[str, float]) -> dict[str, float]:
    """Complete the figures of one rank by what follows from them."""
    full = dict(figures)
    if {"keys", "values"} <= full.keys():
        full["pool"] = full.get("pool", full["keys"] + full["values"])
    if "full_tokens" in full:
        full["tokens"] = full["full_tokens"]
    if "consumed" in full and "weights" in full:
        full["non_torch"] = full["consumed"] - full["weights"]
    if "activation_graphs" in full:
        counted = full.get("graphs_estimated", 0.0) if "utilisation_before" in full else 0.0
        full["activation"] = full["activation_graphs"] - counted
    if "usable" not in full and {"total", "utilisation"} <= full.keys():
        full["usable"] = full["total"] * full["utilisation"]
    return full
