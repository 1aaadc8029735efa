"""What ran here: read from the journals, newest first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.errors import ConfigError, Unknown
from runbooks.engine import journal
from runbooks.engine.lock import overlap
from runbooks.engine.state import Event, Past

TAIL = 65536
"""Bytes at the end of a journal in which its last line is looked for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One run as the history lists it."""

    run_id: str
    runbook: str
    stack: str
    mode: str
    """``acts`` or ``dry``."""
    state: str
    """``done``, ``undone``, ``refused``, ``undo failed``, ``cannot tell``, ``running`` or ``broken off``."""
    exit: int | None
    said: str
    actor: str
    reason: str
    ticket: str
    began: str
    ended: str
    left: tuple[str, ...]
    """Steps that may have written and are not taken back; of runs that ended well, those that ``undo`` would take."""


_STATES = {0: "done", 1: "undone", 2: "refused", 3: "undo failed", 4: "cannot tell"}


def folders(runs: Path) -> list[Path]:
    """List folders of run records, newest first; a run's id begins with its time."""
    if not runs.exists():
        return []
    # A name that begins with a dot is being removed.
    return sorted((path for path in runs.glob("[!.]*") if (path / journal.FILE).exists()), reverse=True)


def find(runs: Path, name: str) -> Path:
    """Find a run by its id or the beginning of it.

    Raises:
        ConfigError: there is none, or more than one.
    """
    known = folders(runs)
    found = [path for path in known if path.name.startswith(name)] if name else []
    exact = [path for path in found if path.name == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if found:
        raise ConfigError(
            f"run {name!r} — stands for {', '.join(path.name for path in found)} — one is allowed — say which"
        )
    newest = ", ".join(path.name for path in known[:3]) or "none yet"
    raise ConfigError(f"run {name!r} — is not known — the newest are {newest} — see `runbook history`")


def entry(folder: Path) -> Entry:
    """Read one run."""
    try:
        past = journal.read(folder)
    except Unknown as error:
        return Entry(folder.name, "", "", "", "damaged", None, str(error), "", "", "", "", "", ())
    told = past.header
    return Entry(
        run_id=folder.name,
        runbook=told.get("runbook", ""),
        stack=told.get("stack", ""),
        mode="acts" if told.get("acts") else "dry",
        state=_state(folder, past),
        exit=past.exit,
        said=past.said,
        actor=told.get("actor", ""),
        reason=told.get("reason", ""),
        ticket=told.get("ticket", ""),
        began=past.began_at,
        ended=past.last_at if past.exit is not None else "",
        left=tuple(past.left) if told.get("acts") else (),
    )


def _state(folder: Path, past: Past) -> str:
    if past.exit is not None:
        return _STATES[past.exit]
    return "running" if journal.is_held(folder) else "broken off"


def entries(runs: Path, *, stack: str = "", limit: int = 0) -> Iterator[Entry]:
    """Yield runs, newest first.

    Args:
        stack: only those of this stack; empty for all.
        limit: how many; 0 for all.
    """
    shown = 0
    for folder in folders(runs):
        one = entry(folder)
        if stack and one.stack != stack:
            continue
        yield one
        shown += 1
        if shown == limit:
            return


def leftovers(runs: Path, scope: str, run_id: str) -> list[str]:
    """Say which dead runs left something behind in a scope; one sentence each."""
    found = []
    for folder in folders(runs):
        if folder.name == run_id or _ended_well(folder) or journal.is_held(folder):
            continue
        past = journal.read(folder)
        if past.left and past.header.get("acts") and overlap(past.plan.get("lock", ""), scope):
            found.append(
                f"run {folder.name} ({past.header['runbook']}) — broke off and left {', '.join(past.left)} in "
                f"{past.plan['lock']!r} — nothing may begin on top of it — "
                f"`runbook undo {folder.name}` first, or --break-lock once it is mended by hand"
            )
    return found


def _ended_well(folder: Path) -> bool:
    """Whether the journal ends with an end other than a failed undo; reads only its tail."""
    with (folder / journal.FILE).open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL))
        line = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError:
        return False
    return told.get("event") == Event.END and told.get("exit") != 3
