"""A start-up log beside its plan, for people and for programs."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from infra.fit.compare import Fit, Term
from infra.fit.log import StartLog
from infra.screen.console import Unit, figure, table, wide_console

SHOWN: dict[str, tuple[str, Unit]] = {
    "total": ("memory of the GPU", "bytes"),
    "free": ("free before the start", "bytes"),
    "utilisation": ("share of memory", "count"),
    "usable": ("memory the engine may take", "bytes"),
    "weights": ("weights", "bytes"),
    "activation": ("activation", "bytes"),
    "non_torch": ("outside PyTorch", "bytes"),
    "graphs_estimated": ("CUDA graphs, estimated", "bytes"),
    "graphs": ("CUDA graphs", "bytes"),
    "pool": ("cache", "bytes"),
    "needed": ("cache of one longest request", "bytes"),
    "left": ("left free", "bytes"),
    "wanted": ("memory that was missing", "bytes"),
    "blocks": ("blocks", "count"),
    "block_tokens": ("block", "tokens"),
    "tokens": ("tokens", "tokens"),
    "window_tokens": ("tokens in windows", "tokens"),
    "concurrency": ("requests of the longest kind", "count"),
    "length": ("longest request", "tokens"),
    "asked": ("longest request, asked for", "tokens"),
    "longest": ("longest request that fits", "tokens"),
    "load": ("load", "seconds"),
    "compile": ("compile", "seconds"),
    "graphs_took": ("capture of graphs", "seconds"),
    "engine": ("profile, cache and warm-up", "seconds"),
}
"""Figures of a log that are shown by themselves: in whose words, and in what they are counted."""


def show(path: str, log: StartLog, fit: Fit | None, *, is_asked: bool) -> None:
    """Print what a log says beside what the plan says, and the term that is off.

    Args:
        is_asked: whether a model was named, so that only its plan is what cannot be told.
    """
    console = wide_console()
    version = f" {log.settings.version}" if log.settings.version else ""
    ranks = f", {log.workers} ranks" if log.workers > 1 else ""
    starts = f", the last of {log.starts} starts" if log.starts > 1 else ""
    console.print(f"[bold]{log.engine}{version}[/]{ranks}{starts} in {escape(path)}")
    for failure in log.failures:
        console.print(f"[red]stopped:[/] {failure.what} ({escape(failure.line)})", soft_wrap=True)
    if fit is None:
        _figures(console, log)
        if not is_asked:
            console.print("nothing to hold it against: give --stack-file and --model, or --model and --gpu")
        return
    single = fit.single
    where = f"{single.layout.gpus} × {single.gpu.name}" if single.gpu else "a CPU"
    console.print(f"planned: {escape(single.name)} on {where}, {single.engine.name} {single.version}")
    for difference in fit.otherwise:
        console.print(f"started otherwise: {escape(difference)}", soft_wrap=True)
    console.print(_terms(fit))
    if fit.blame or log.tells_outcome:
        console.print(verdict(fit), soft_wrap=True)


def verdict(fit: Fit) -> str:
    """Say in a sentence whether a log agrees with its plan, and which term is off by how much."""
    if not fit.terms:
        return "the log has no figure that a plan has too"
    term = fit.blame
    if term is None:
        return "[green]agrees with the plan[/]"
    said = f"{term.name} — {_much(term)} than planned, {figure(term.allowed, term.unit)} would be within bounds"
    also = [other.name for other in fit.terms if other.is_off and other is not term]
    return f"[red]off:[/] {said}" + (f"; off with it: {', '.join(also)}" if also else "")


def document(log: StartLog, fit: Fit | None) -> dict[str, Any]:
    """Turn both into data."""
    return {
        "engine": log.engine,
        "settings": {name: value for name, value in asdict(log.settings).items() if value is not None},
        "ranks": {rank: dict(figures) for rank, figures in log.ranks.items()},
        "failures": [asdict(failure) for failure in log.failures],
        "otherwise": list(fit.otherwise) if fit else [],
        "terms": [
            {**asdict(term), "difference": term.difference, "is_off": term.is_off}
            for term in (fit.terms if fit else ())
        ],
        "blame": fit.blame.name if fit and fit.blame else None,
    }


def _terms(fit: Fit) -> Any:
    shown = table("TERM", "LOGGED>", "PLANNED>", "DIFFERENCE>", "ALLOWED>", "")
    for term in fit.terms:
        share = f" ({term.difference / term.planned:+.1%})" if term.planned else ""
        more = figure(term.difference, term.unit)
        difference = f"{'+' if term.difference > 0 else ''}{more}{share}" if re.search("[1-9]", more) else "none"
        verdict = "[red]off[/]" if term.is_off else "[green]ok[/]"
        cells = (figure(term.logged, term.unit), figure(term.planned, term.unit), difference)
        shown.add_row(term.name, *cells, figure(term.allowed, term.unit), verdict)
    return shown


def _figures(console: Console, log: StartLog) -> None:
    shown = table("FIGURE", "LOGGED>", "RANKS>")
    for name, (words, unit) in SHOWN.items():
        if (value := log.figure(name)) is not None:
            ranks = sum(name in figures for figures in log.ranks.values())
            shown.add_row(words, figure(value, unit), str(ranks))
    console.print(shown)


def _much(term: Term) -> str:
    amount = figure(abs(term.difference), term.unit)
    return f"{amount} more" if term.difference > 0 else f"{amount} less"
