"""What people see while a run goes on: colours and a spinner on a terminal, plain lines anywhere else."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console

_LEADS = {
    "step": "",
    "say": "  … ",
    "would": "  would ",
    "ok": "  ok: ",
    "stop": "  stop: ",
    "fail": "  failed: ",
    "unknown": "  cannot tell: ",
    "note": "",
    "warn": "warning: ",
}
"""What a line of each kind begins with."""

_STYLES = {
    "step": "bold",
    "say": "dim",
    "would": "cyan",
    "ok": "green",
    "stop": "yellow",
    "fail": "bold red",
    "unknown": "magenta",
    "warn": "yellow",
}
"""Colour of each kind of line."""


class Screen:
    """Shows nothing; what every other screen can do."""

    def line(self, kind: str, text: str) -> None:
        """Show one line; kinds are those of the leads above."""

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show rows under their columns; none, no table."""

    def busy(self, text: str) -> AbstractContextManager[Any]:
        """Show that something is under way."""
        return nullcontext()


class PlainScreen(Screen):
    """Lines for logs and pipes; a reader that goes away does not end the run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def line(self, kind: str, text: str) -> None:
        """Show one line."""
        self._write(_LEADS[kind] + text)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show rows under their columns."""
        if not rows:
            return
        widths = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
        for row in (columns, *rows):
            self._write("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def _write(self, text: str) -> None:
        survive(lambda: print(text, file=self._stream, flush=True), self._stream)


class RichScreen(Screen):
    """Colours, tables and a spinner for a terminal."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._stream = stream
        self._console: Console = Console(file=stream, highlight=False, soft_wrap=True)

    def line(self, kind: str, text: str) -> None:
        """Show one line."""
        from rich.text import Text

        shown = Text(_LEADS[kind] + text, style=_STYLES.get(kind, ""))
        survive(lambda: self._console.print(shown), self._stream)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show rows under their columns."""
        from rich.table import Table
        from rich.text import Text

        if not rows:
            return
        table = Table(*columns, box=None, header_style="bold", pad_edge=False)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        survive(lambda: self._console.print(table), self._stream)

    def busy(self, text: str) -> AbstractContextManager[Any]:
        """Show a spinner."""
        from rich.markup import escape

        return self._console.status(escape(text))


def survive(show: Callable[[], None], stream: TextIO) -> None:
    """Show, whatever has become of the reader: an undo must not end because a pipe or a terminal is gone."""
    try:
        show()
    except (OSError, SystemExit, ValueError):
        # rich leaves with SystemExit; ValueError is a closed stream. What is still buffered goes nowhere.
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def screen_for(stream: TextIO) -> Screen:
    """Pick the screen that fits a stream."""
    return RichScreen(stream) if stream.isatty() else PlainScreen(stream)
