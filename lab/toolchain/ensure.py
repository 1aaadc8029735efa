"""Have all tools: find those that are there, build the others side by side, and link them into one folder."""

from __future__ import annotations

import os
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.toolchain.builds import build
from lab.toolchain.search import Found, find
from lab.toolchain.table import Tool

WORKERS = 2
"""Tools built side by side (count): one links or downloads, on one core, while the other compiles."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something changed for one tool.

    Args:
        tool: its name.
        state: where it stands.
        seconds: how long it has been building, or took (s).
        detail: the newest line of its build, or where it was found.
    """

    tool: str
    state: Literal["waiting", "building", "ready", "failed"]
    seconds: float
    detail: str


OnProgress = Callable[[Event], None]
"""How the caller is told; called from several threads."""


def ensure_all(tools: Iterable[Tool], logs: Path, on_progress: OnProgress) -> dict[str, Found]:
    """Have every tool, and tell where it is.

    After a failure nothing new starts, and what runs may finish, so that its work is not lost.

    Args:
        tools: in the order in which they are built.
        logs: folder of one log per tool.
    Raises:
        CheckError: the first tool that could not be built.
    """
    found: dict[str, Found] = {}
    missing = deque(tool for tool in tools if not _is_there(tool, found, on_progress))
    failures: list[Exception] = []

    def work() -> None:
        while missing and not failures:
            tool = missing.popleft()
            try:
                found[tool.name] = _build_one(tool, logs / f"{tool.name}.log", on_progress)
            except Exception as error:  # a thread's top frame; raised again below
                failures.append(error)

    # Daemon threads, because Ctrl-C must end the program without waiting for a build of minutes.
    threads = [threading.Thread(target=work, daemon=True, name=f"tools-{n}") for n in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return found


def _is_there(tool: Tool, found: dict[str, Found], on_progress: OnProgress) -> bool:
    there = find(tool)
    if there is None:
        on_progress(Event(tool.name, "waiting", 0.0, ""))
        return False
    found[tool.name] = there
    on_progress(Event(tool.name, "ready", 0.0, f"{there.version} in {there.folder}"))
    return True


def _build_one(tool: Tool, log: Path, on_progress: OnProgress) -> Found:
    started = time.monotonic()

    def tell(state: Literal["building", "ready", "failed"], detail: str) -> None:
        on_progress(Event(tool.name, state, time.monotonic() - started, detail))

    tell("building", "starting")
    try:
        programs = build(tool, log, os.cpu_count() or 1, lambda line: tell("building", line))
    except Exception as error:
        tell("failed", str(error).splitlines()[0])
        raise
    tell("ready", f"{tool.version} in {programs}")
    return Found(programs, built=True, version=tool.version)


def link_all(tools: Iterable[Tool], found: Mapping[str, Found], bin_dir: Path) -> None:
    """Link every tool into one folder; a link is replaced in one step, so that it is never missing."""
    bin_dir.mkdir(parents=True, exist_ok=True)
    for tool in tools:
        for entry in tool.entries:
            fresh = bin_dir / f".{entry}.{os.getpid()}"
            fresh.unlink(missing_ok=True)
            _link(found[tool.name].folder / entry, fresh)
            fresh.replace(bin_dir / entry)
    _sweep(bin_dir)


def _sweep(bin_dir: Path) -> None:
    """Remove fresh links that took nobody's place: rename(2) keeps both names where they are one file already."""
    for path in bin_dir.glob(".*"):
        if re.fullmatch(r"\..+\.\d+", path.name):
            path.unlink(missing_ok=True)


def _link(source: Path, target: Path) -> None:
    """Link a program by content where that is possible: Pulumi looks for its parts beside what a link points to."""
    try:
        os.link(source.resolve(), target)
    except OSError:
        # Folders, and other file systems.
        target.symlink_to(source)
