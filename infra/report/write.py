"""Write a report: one Markdown file, and a plot beside it for each question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from infra.errors import ConfigError
from infra.plan.outlook import Outlook
from infra.report.plots import cost_plot, held_plot, memory_plot
from infra.screen.bar import parts
from infra.screen.console import figure
from infra.screen.model import facts
from infra.units import gib

NAME = "report.md"
"""File that the report is in."""


def write(folder: Path, title: str, outlooks: list[Outlook]) -> list[Path]:
    """Write a report on models into a folder, and say which files there are now.

    Raises:
        ConfigError: there is nothing to report, or the folder cannot be written.
    """
    if not outlooks:
        raise ConfigError(f"--report {folder} — no model could be planned; see what is refused, and fix it first")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = _plots(folder, outlooks)
        report = folder / NAME
        report.write_text("\n".join(_report(title, outlooks, paths)) + "\n", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--report {folder} — cannot be written ({error}) — name a folder of yours") from error
    return [report, *paths]


def _plots(folder: Path, outlooks: list[Outlook]) -> list[Path]:
    memory, held, cost = (folder / f"{name}.svg" for name in ("memory", "requests", "cost"))
    memory_plot(outlooks, memory)
    drawn = [memory]
    drawn += [held] if held_plot(outlooks, held) else []
    drawn += [cost] if cost_plot(outlooks, cost) else []
    return drawn


TITLES = {
    "memory": "Where the memory of a rank goes",
    "requests": "Requests that fit at once, by their length",
    "cost": "Cost of a million answered tokens, by load",
}
"""Heading of each plot, by the name of its file."""


def _report(title: str, outlooks: list[Outlook], paths: list[Path]) -> Iterator[str]:
    yield f"# Plan of {title}"
    yield from ("", *_table(outlooks))
    for path in paths:
        yield from ("", f"## {TITLES[path.stem]}", "", f"![{TITLES[path.stem]}]({path.name})")
    if "cost" not in {path.stem for path in paths}:
        yield from ("", "No plot of cost: speed or price is not known for any of these models.")
    for outlook in outlooks:
        yield from ("", f"## {outlook.single.name}", "", *_model(outlook))


def _table(outlooks: list[Outlook]) -> Iterator[str]:
    yield "| model | GPUs of a replica | weights | KV cache | KV tokens | longest request | an hour | holds |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for outlook in outlooks:
        memory, cost = outlook.memory, outlook.cost
        cells = (
            outlook.single.name,
            str(outlook.single.layout.gpus) + (f" × {outlook.single.gpu.name}" if outlook.single.gpu else ""),
            gib(memory.weights),
            gib(memory.kv_pool) if memory.kv_pool > 0 else "does not fit",
            f"{memory.kv_tokens:,}",
            f"{memory.longest(outlook.single.architecture.max_context):,}",
            figure(cost.usd_per_hour, "usd") if cost else "not known",
            "no" if outlook.problems else "yes",
        )
        yield f"| {' | '.join(cells)} |"


def _model(outlook: Outlook) -> Iterator[str]:
    for problem in outlook.problems:
        yield f"**Does not hold:** {problem}."
        yield ""
    yield "| | |"
    yield "| --- | --- |"
    for name, text in facts(outlook):
        yield f"| {name} | {text.replace('|', '/')} |"
    yield from ("", "| part of a rank's memory | size | share |", "| --- | ---: | ---: |")
    for part in parts(outlook.memory):
        yield f"| {part.name} | {gib(part.size)} | {part.size / outlook.memory.total:.1%} |"
    for note in outlook.notes:
        yield from ("", f"Note: {note}.")
