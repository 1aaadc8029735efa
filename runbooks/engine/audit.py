"""Who did what, when and why: one append-only file for all runs of a clone."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from runbooks.engine.journal import now
from runbooks.engine.plain import plain

FILE = "audit.jsonl"
"""Name of the audit file in the folder of runs."""


class Audit:
    """Lines of one run in the audit file; runs that only look leave none."""

    def __init__(self, runs: Path, run_id: str, warn: Callable[[str], None], *, acts: bool) -> None:
        self._path, self._run_id, self._warn, self._acts = runs / FILE, run_id, warn, acts

    def append(self, event: str, **data: Any) -> None:
        """Write one line and wait until it is on disk.

        Raises:
            OSError: it is not; so nothing may be begun.
        """
        if not self._acts:
            return
        line = json.dumps({"at": now(), "run_id": self._run_id, "event": event, **plain(data)}, ensure_ascii=False)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            # One call per line, so that the lines of two runs do not mix.
            os.write(file, line.encode() + b"\n")
            os.fsync(file)
        finally:
            os.close(file)

    def note(self, event: str, **data: Any) -> None:
        """Write a line about what has begun already; it goes on without."""
        try:
            self.append(event, **data)
        except OSError as error:
            self._warn(f"audit — line {event!r} is not on disk ({error.strerror or error}) — the run goes on")


def revision(clone: Path) -> str:
    """Name the commit the code is at, with ``-dirty`` when files differ; empty outside git."""
    try:
        said = subprocess.run(
            ["git", "-C", str(clone), "describe", "--always", "--dirty", "--abbrev=40"],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.strip()
