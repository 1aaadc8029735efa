"""Show how the steps of a run stand: a live table on a terminal, plain lines anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lab.steps import Phase, State, View

HEARTBEAT_SECONDS = 15.0
"""Longest silence of the plain view while a step runs (s); CI systems end jobs that say nothing."""

MARKS: dict[Phase, tuple[str, str]] = {
    "waiting": ("·", "dim"),
    "running": ("▸", "cyan"),
    "done": ("✓", "green"),
    "skipped": ("✓", "dim green"),
    "failed": ("✗", "bold red"),
}
"""Sign and colour of each phase."""


def words(state: State) -> str:
    """What to say beside a step: its newest line while it runs, then what came of it."""
    if state.phase == "failed":
        return f"failed, see {state.log}"
    return {"waiting": "", "running": state.detail, "done": state.detail, "skipped": "already true"}[state.phase]


class PlainView:
    """One line per change, and a sign of life every few seconds."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._phases: dict[str, Phase] = {}
        self._said: dict[str, float] = {}

    def show(self, states: Sequence[State], now: float) -> None:
        """Write a line for each step that changed, or that ran for long in silence."""
        for state in states:
            name = state.step.name
            changed = self._phases.get(name, "waiting") != state.phase
            silent = state.phase == "running" and now - self._said.get(name, now) >= HEARTBEAT_SECONDS
            if changed or silent:
                self._phases[name], self._said[name] = state.phase, now
                self._write(self._line(state, now))

    def _line(self, state: State, now: float) -> str:
        mark = MARKS[state.phase][0]
        return f"{mark} {state.step.name:<16} {state.seconds(now):6.0f} s  {words(state)}".rstrip()


class LiveView:
    """One row per step, redrawn in place."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def show(self, states: Sequence[State], now: float) -> None:
        """Redraw all rows."""
        table = Table.grid(padding=(0, 2))
        for state in states:
            mark, style = MARKS[state.phase]
            spent = f"{state.seconds(now):.0f} s" if state.phase != "waiting" else ""
            note = Text(words(state), no_wrap=True, overflow="ellipsis")
            table.add_row(Text(mark, style), Text(state.step.name, style), Text(spent, justify="right"), note)
        self._live.update(table)


@contextmanager
def view() -> Iterator[View]:
    """The view that suits standard output."""
    if not sys.stdout.isatty():
        yield PlainView(lambda line: print(f"{time.strftime('%H:%M:%S')} {line}", flush=True))
        return
    with Live(console=Console(), refresh_per_second=5, transient=False) as live:
        yield LiveView(live)
