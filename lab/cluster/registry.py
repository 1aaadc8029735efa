"""Which labs there are on this machine, so that clones know and spare each other."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from lab.cluster.lab import Lab, replace

Wanted = Literal["up", "down"]
"""What the user asked for last; a watcher brings back only a lab that is wanted up."""


@dataclass(frozen=True)
class Record:
    """One lab's entry.

    Args:
        pid: its first process, as the machine counts (supervisord).
        born: when that process and this boot began; tells a reused pid from the real one.
        wanted: whether a watcher should bring it back.
        folders: mount points that had to be made on the machine and go with the lab.
    """

    lab_id: str
    clone: str
    pid: int
    born: str
    octet: int
    simulated: bool
    wanted: Wanted = "up"
    folders: tuple[str, ...] = ()

    @property
    def is_alive(self) -> bool:
        """True while the process it names is the one that was started."""
        return self.pid > 0 and birth(self.pid) == self.born


def folder() -> Path:
    """Where entries are kept: gone after a machine restart, readable by all clones of this user."""
    return Path("/run/railwright") if os.geteuid() == 0 else Path(tempfile.gettempdir(), f"railwright-{os.geteuid()}")


def birth(pid: int) -> str:
    """Boot and start time of a process; empty when there is none, or only its corpse."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else f"{boot}/{fields[19]}"


def read(lab_id: str) -> Record | None:
    """The entry of one lab; None if it has none or it is damaged."""
    return _load(folder() / f"{lab_id}.json")


def read_all() -> list[Record]:
    """Every lab's entry, living or dead."""
    return [record for path in sorted(folder().glob("*.json")) if (record := _load(path))]


def write(record: Record) -> None:
    """Enter a lab, or change its entry."""
    folder().mkdir(mode=0o755, exist_ok=True)
    replace(folder() / f"{record.lab_id}.json", json.dumps(asdict(record), indent=2) + "\n", mode=0o644)


def remove(lab_id: str) -> None:
    """Strike a lab out, and the folder with the last one."""
    (folder() / f"{lab_id}.json").unlink(missing_ok=True)
    if folder().is_dir() and not any(folder().iterdir()):
        folder().rmdir()


def living(lab: Lab) -> Record | None:
    """The entry of a lab that runs; None when it does not."""
    record = read(lab.lab_id)
    return record if record and record.is_alive else None


def _load(path: Path) -> Record | None:
    try:
        fields = json.loads(path.read_text())
        return Record(**{**fields, "folders": tuple(fields.get("folders", ()))})
    except (OSError, ValueError, TypeError, AttributeError):
        return None
