"""Stop a run that another process is at, and wait until it is undone."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

from infra.errors import ConfigError
from runbooks.engine import history, journal
from runbooks.engine.result import Exit
from runbooks.engine.screen import Screen

PATIENCE_S = 1800.0
"""Seconds for which an undo is waited for; it goes on if that is not enough."""


def abort(runs: Path, name: str, screen: Screen) -> Exit:
    """Stop a run; done once it is undone or had written nothing.

    Raises:
        ConfigError: no process is at it, or one on another host.
    """
    folder = history.find(runs, name)
    holder = journal.read(folder).holder
    if not journal.is_held(folder):
        raise ConfigError(
            f"run {folder.name} — no process is at it — only a run that goes on is stopped — "
            f"`runbook undo {folder.name}` takes back what it left"
        )
    if holder["host"] != socket.gethostname():
        raise ConfigError(f"run {folder.name} — goes on on host {holder['host']!r} — it is stopped from there")
    os.kill(holder["pid"], signal.SIGTERM)
    screen.line("step", f"run {folder.name}: process {holder['pid']} was told to stop; waiting for its undo")
    end = time.monotonic() + PATIENCE_S
    while journal.is_held(folder):
        if time.monotonic() > end:
            screen.line("unknown", f"run {folder.name} is still at it")
            return Exit.UNKNOWN
        time.sleep(0.2)
    past = journal.read(folder)
    screen.line("step", f"run {folder.name}: {past.said or 'its process is gone; undo it with `runbook undo`'}")
    if past.exit in (Exit.UNDONE, Exit.REFUSED, Exit.DONE):
        return Exit.DONE
    return Exit(past.exit) if past.exit is not None else Exit.UNKNOWN
