"""Read the parts' logs, also while they are written and rotated."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from infra.errors import ConfigError
from lab import paths

POLL_SECONDS = 0.3
"""Pause between two looks while following (s)."""


def names() -> list[str]:
    """Parts that have a log."""
    return sorted(path.stem for path in (paths.state_dir() / "log").glob("*.log"))


def logs(part: str, *, follow: bool = False, last: int = 200) -> Iterator[str]:
    """Lines of one part's log, newest last.

    Args:
        follow: go on with new lines until the caller stops.
        last: how many old lines come first (count).
    Raises:
        ConfigError: there is no such log.
    """
    path = paths.state_dir() / "log" / f"{part}.log"
    if not path.exists():
        raise ConfigError(
            f"lab logs — found no log of {part!r} — there are logs of {', '.join(names()) or 'nothing yet'} — "
            "name one of them"
        )
    return _follow(path, last) if follow else iter(path.read_text(errors="replace").splitlines()[-last:])


def _follow(path: Path, last: int) -> Iterator[str]:
    while True:
        with path.open(errors="replace") as file:
            yield from file.read().splitlines()[-last:]
            # A rotated log is another file under the same name.
            while not path.exists() or path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                if line := file.readline():
                    yield line.rstrip("\n")
                else:
                    time.sleep(POLL_SECONDS)
            yield from file.read().splitlines()
        last = 10**9
