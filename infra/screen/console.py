"""Tables and figures as the terminal shows them."""

from __future__ import annotations

from math import floor, log10
from typing import Literal

from rich.console import Console
from rich.table import Table

from infra.units import GIB

Unit = Literal["bytes", "count", "seconds", "usd", "tokens", "text", "requests"]
"""What a figure counts; ``usd`` is US dollars."""

WIDEST = 180
"""Columns that our widest table takes (characters)."""


def wide_console() -> Console:
    """Open a console whose tables are never cut; a narrow terminal wraps the line, as with kubectl."""
    return Console(highlight=False, width=max(Console().width, WIDEST))


def table(*columns: str) -> Table:
    """Make a table without frame; a column whose name ends in ``>`` is aligned to the right."""
    made = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        name, side, _ = column.partition(">")
        made.add_column(name, justify="right" if side else "left", no_wrap=True)
    return made


def figure(value: float, unit: Unit) -> str:
    """Print a figure with its unit: bytes as GiB, money as dollars, times as seconds."""
    if unit == "bytes":
        return f"{value / GIB:,.2f} GiB"
    if unit == "usd":
        return f"${value:,.{_decimals(value)}f}"
    if unit == "seconds":
        return f"{value:,.1f} s" if value % 1 else f"{value:,.0f} s"
    if unit == "tokens":
        return f"{value:,.0f} tokens"
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _decimals(value: float) -> int:
    """Cents, or three digits of what is less than a dollar (count)."""
    return 2 if value == 0 or abs(value) >= 1 else 2 - floor(log10(abs(value)))
