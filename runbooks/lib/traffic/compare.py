"""Runs side by side, whichever tool made them; figures that mean different things are in different rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from infra.errors import ConfigError
from runbooks.lib.traffic.imports import COUNTS, STATISTICS, Column, read
from runbooks.lib.traffic.table import ms


def columns_of(paths: Sequence[Path]) -> list[Column]:
    """Read all reports.

    Raises:
        ConfigError: some cannot be read; all of them at once.
    """
    columns: list[Column] = []
    problems: list[str] = []
    for path in paths:
        try:
            columns += read(path)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*problems)
    return columns


def rows(columns: Sequence[Column]) -> Iterator[tuple[str, ...]]:
    """Yield each row: its name, then a cell for each column."""
    for name in COUNTS:
        yield name, *(_number(column.counts.get(name)) for column in columns)
    for figure in dict.fromkeys(key for column in columns for key in column.spreads):
        for statistic in STATISTICS:
            values = [column.spreads.get(figure, {}).get(statistic) for column in columns]
            if any(value is not None for value in values):
                yield f"{figure} {statistic}", *("–" if value is None else ms(value) for value in values)


def meanings(columns: Sequence[Column]) -> Iterator[str]:
    """Yield what each tool means by each figure."""
    for figure in dict.fromkeys(key for column in columns for key in column.definitions):
        for tool in dict.fromkeys(column.tool for column in columns if figure in column.definitions):
            meaning = next(column.definitions[figure] for column in columns if column.tool == tool)
            yield f"{figure}, {tool}: {meaning}"


def show(columns: Sequence[Column], console: Console) -> None:
    """Print the table, then the meanings."""
    table = Table(box=None)
    table.add_column("")
    for column in columns:
        table.add_column(f"{column.name}\n{column.tool}", justify="right")
    for row in rows(columns):
        table.add_row(*row)
    console.print(table)
    for meaning in meanings(columns):
        console.print(meaning, markup=False, highlight=False)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
