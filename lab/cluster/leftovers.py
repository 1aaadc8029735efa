"""What dead labs leave on the machine: found by name and removed; living labs are left alone."""

from __future__ import annotations

import os
import select
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lab.cluster import cgroups, marks, namespace, registry, watch
from lab.cluster.registry import Record

KILL_SECONDS = 10.0
"""Longest wait for a killed process to be gone (s)."""

LINKS = Path("/sys/class/net")
"""Where the kernel lists the machine's network interfaces."""


@dataclass(frozen=True)
class Leftover:
    """Something a lab left behind: what it is, its name, and whose it was."""

    kind: str
    name: str
    lab_id: str


def is_watched(record: Record) -> bool:
    """True while a watcher of its clone is about to bring it back."""
    return watch.is_held(Path(record.clone) / ".lab/run/watch.lock")


def find(own: str = "") -> list[Leftover]:
    """Everything that belongs to no living or watched lab, in the order in which it is removed.

    Args:
        own: a lab whose watcher does not count, because the caller holds its start lock.
    """
    records = {record.lab_id: record for record in registry.read_all()}
    kept = {lab_id for lab_id, record in records.items() if record.is_alive or (lab_id != own and is_watched(record))}
    dead = ({*records, own} if own else {*records}) - kept
    found = []
    for lab_id in sorted(dead):
        found += [Leftover("process", str(pid), lab_id) for pid in marks.processes(marks.PART, lab_id)]
        if (LINKS / f"rw-{lab_id}").exists():
            found.append(Leftover("interface", f"rw-{lab_id}", lab_id))
        if record := records.get(lab_id):
            found += [Leftover("folder", name, lab_id) for name in record.folders if Path(name).is_dir()]
            found.append(Leftover("entry", lab_id, lab_id))
    for name in sorted(cgroups.names()):
        lab_id = name.removeprefix("railwright-")
        # A cgroup in use that no entry names is a lab that lost its entry: not ours to end.
        if lab_id in dead or (lab_id not in kept and not cgroups.processes(name)):
            found.append(Leftover("cgroup", name, lab_id))
    return found


def clean(own: str = "") -> list[Leftover]:
    """Remove what dead labs left.

    Args:
        own: as in ``find``.
    Returns:
        What was removed.
    """
    found = find(own)
    for leftover in found:
        # The caller's own entry stays to the end: a watcher goes away when it finds none.
        if (leftover.kind, leftover.lab_id) != ("entry", own):
            _remove(leftover)
    return found


def _remove(leftover: Leftover) -> None:
    if leftover.kind == "process":
        _kill(int(leftover.name))
    elif leftover.kind == "cgroup":
        cgroups.remove(leftover.name)
    elif leftover.kind == "interface":
        namespace.disconnect(leftover.name)
    elif leftover.kind == "folder" and not _is_used_by_living(leftover.name):
        remove_if_empty(Path(leftover.name))
    elif leftover.kind == "entry":
        registry.remove(leftover.lab_id)


def _is_used_by_living(folder: str) -> bool:
    """True when a lab that lives covers the same folder; it inherits the duty to remove it."""
    heirs = [record for record in registry.read_all() if record.is_alive and not record.simulated]
    if heirs and folder not in heirs[0].folders:
        registry.write(Record(**{**heirs[0].__dict__, "folders": (*heirs[0].folders, folder)}))
    return bool(heirs)


def remove_if_empty(folder: Path) -> None:
    """Remove a folder that nobody else put anything into."""
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def _kill(pid: int) -> None:
    """Kill a process and wait until it has let go of its ports and files."""
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
            select.select([handle], [], [], KILL_SECONDS)
        finally:
            os.close(handle)
