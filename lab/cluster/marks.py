"""Find processes of a lab by a mark in their environment, which no crash can lose."""

from __future__ import annotations

import os
from pathlib import Path

from lab.cluster import registry

PART = "RAILWRIGHT_LAB"
"""Variable that each process inside a lab carries; its value is the lab's id."""

PROGRAM = "RAILWRIGHT_PROGRAM_OF_LAB"
"""Variable of the programs that ``lab up`` runs on the machine, with all that they start; one that the user runs by
hand does not carry it, and nobody but the user ends it."""

WATCHER = "RAILWRIGHT_WATCHED_LAB"
"""Variable that a lab's watchers carry."""


def processes(mark: str, lab_id: str) -> list[int]:
    """Living processes that carry a mark, the oldest first; never the caller itself."""
    wanted, found = f"{mark}={lab_id}".encode(), {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in words and (born := registry.birth(int(folder.name))):
                found[int(folder.name)] = int(born.rpartition("/")[2])
    return sorted(found, key=lambda pid: (found[pid], pid))
