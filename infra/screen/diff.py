"""What changes between two stack files, as a table."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.markup import escape

from infra.plan.diff import Change, Unit, Value
from infra.screen.console import figure, table


def show(console: Console, before: str, after: str, changes: Iterable[Change]) -> None:
    """Print each figure that differs, and by how much."""
    shown = table("WHERE", "FIGURE", "BEFORE>", "AFTER>", "DIFFERENCE>")
    for change in changes:
        cells = (_value(change.before, change.unit), _value(change.after, change.unit), _difference(change))
        shown.add_row(escape(change.key), change.figure, *cells)
    console.print(f"from {escape(before)} to {escape(after)}")
    if shown.row_count:
        console.print(shown)
    else:
        console.print("[green]no figure differs[/]")


def _value(value: Value, unit: Unit) -> str:
    if value is None:
        return "–"
    return escape(value) if isinstance(value, str) else figure(value, unit)


def _difference(change: Change) -> str:
    grows = change.grows_by
    if grows is None:
        return ""
    sign = "+" if grows > 0 else "−"
    share = (
        f" ({grows / float(change.before):+.1%})" if isinstance(change.before, int | float) and change.before else ""
    )
    return f"{sign}{figure(abs(grows), change.unit)}{share}"
