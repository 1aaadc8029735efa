"""Remove the records of old runs; what a run may have left in the world keeps its record."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.errors import ConfigError, Unknown
from runbooks.engine import history, journal
from runbooks.engine.options import span
from runbooks.engine.result import Exit
from runbooks.engine.state import Past
from runbooks.engine.tell import as_json

KEPT = "90d"
"""Age below which records are kept, unless told otherwise. Our choice: a quarter, the usual time of a review."""

DOOMED = ".pruned-"
"""Start of the name that a folder has while it goes, so that a removal broken off leaves no half record."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``runbook prune``."""
    parser.add_argument("--older", default=KEPT, metavar="TIME", help=f"remove runs that ended before it ({KEPT})")
    parser.add_argument("--yes", action="store_true", help="remove them; without it they are only named")
    parser.add_argument("--json", action="store_true", help="names of the runs as JSON")


def run(given: Any) -> Exit:
    """Name the records that may go, and with ``--yes`` remove them; the audit file stays whole.

    Raises:
        ConfigError: the age is none.
    """
    try:
        age = span(given.older)
    except ValueError as error:
        raise ConfigError(f"--older — {given.older!r} was found — allowed: a time such as 30d — change it") from error
    found = list(removable(given.site.runs, datetime.now(UTC) - age))
    if given.yes:
        remove(given.site.runs, found)
    if given.json:
        print(as_json([path.name for path in found]))
        return Exit.DONE
    for path in found:
        given.site.screen.line("step", f"{'removed' if given.yes else 'would remove'} run {path.name}")
    given.site.screen.line("step", f"{len(found)} runs{'' if given.yes or not found else '; --yes removes them'}")
    return Exit.DONE


def removable(runs: Path, before: datetime) -> Iterator[Path]:
    """Yield folders of runs whose last line is older than a time, and that left nothing to be taken back."""
    for folder in history.folders(runs):
        try:
            past = journal.read(folder)
        except Unknown:
            continue  # damaged: what it did must be looked at by hand
        if past.last_at and datetime.fromisoformat(past.last_at) < before and not _is_open(folder, past):
            yield folder


def _is_open(folder: Path, past: Past) -> bool:
    if journal.is_held(folder):
        return True
    may_have_left = past.exit in (None, Exit.UNDO_FAILED) or (past.exit == Exit.UNKNOWN and bool(past.left))
    return bool(past.header.get("acts")) and may_have_left


def remove(runs: Path, folders: list[Path]) -> None:
    """Remove folders, each seen by others whole or not at all; also those of a removal that was broken off."""
    for folder in folders:
        folder.rename(runs / f"{DOOMED}{folder.name}")
    for doomed in runs.glob(f"{DOOMED}*"):
        shutil.rmtree(doomed)
