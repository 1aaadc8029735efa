"""How each part of the lab stands, as data, as a table and as JSON."""

from __future__ import annotations

import json
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import psutil
from rich.table import Table

from infra.units import MIB
from lab import paths
from lab.cluster import registry, watch
from lab.cluster.health import complaint
from lab.cluster.lab import Lab, remembered, replace, this_clone
from lab.cluster.operate import is_paused
from lab.cluster.parts import Part, parts
from lab.cluster.registry import Record
from lab.cluster.supervision import Process, Supervisor

State = Literal["works", "starting", "fails", "ended", "stopped"]
"""``fails``: the process runs but does not answer; ``ended``: there is no process; ``stopped``: on somebody's order."""

STYLES = {"works": "green", "starting": "yellow", "fails": "bold red", "ended": "bold red", "stopped": "yellow"}
"""Colour of each state."""


@dataclass(frozen=True)
class Row:
    """One part: memory in bytes (resident), since as ISO 8601, pid as the machine counts."""

    part: str
    version: str
    state: State
    pid: int
    memory_bytes: int
    since: str
    detail: str = ""


@dataclass(frozen=True)
class Status:
    """One lab and all its parts."""

    lab_id: str
    kind: Literal["full", "simulated", "none"]
    api: str
    rows: tuple[Row, ...]

    @property
    def works(self) -> bool:
        """True when it runs and every part works."""
        return bool(self.rows) and all(row.state == "works" for row in self.rows)


def status() -> Status:
    """Look at the lab of this clone."""
    network = remembered(paths.state_dir())
    record = registry.read(paths.lab_id())
    if network is None or record is None or not record.is_alive:
        return Status(paths.lab_id(), "none", "", ())
    lab = this_clone(network)
    supervisor = Supervisor(lab)
    processes = supervisor.processes() if supervisor.is_answering() else {}
    pids = machine_pids(record)
    table = parts(lab)
    # Asked side by side, so that several dead parts do not make the user wait for each in turn.
    with ThreadPoolExecutor(max_workers=len(table)) as pool:
        complaints = list(pool.map(lambda part: complaint(lab, part, record.pid), table))
    names = versions(lab, table)
    first = _row("supervisord", names["supervisord"], "works" if processes else "fails", record.pid)
    rows = [
        part_row(part, names[part.name], processes.get(part.name), wrong, pids)
        for part, wrong in zip(table, complaints, strict=True)
    ]
    kind: Literal["full", "simulated"] = "simulated" if lab.simulated else "full"
    return Status(lab.lab_id, kind, network.api_url, (first, *rows, watcher_row(lab)))


def part_row(part: Part, version: str, process: Process | None, wrong: str, pids: dict[int, int]) -> Row:
    """Put together what supervisord and the part itself say."""
    if process and process.state == "STOPPED":
        return Row(part.name, version, "stopped", 0, 0, "", "`lab up` starts it")
    if process is None or process.pid == 0:
        reason = process.reason or process.state.lower() if process else "supervisord does not know it"
        return Row(part.name, version, "ended", 0, 0, "", reason)
    pid = pids.get(process.pid, 0)
    if is_paused(pid):
        return _row(part.name, version, "stopped", pid, "paused; `lab up` lets it go on")
    state: State = "works" if not wrong else "starting" if process.state == "STARTING" else "fails"
    return _row(part.name, version, state, pid, wrong)


def watcher_row(lab: Lab) -> Row:
    """The pair outside the lab that brings it back."""
    alive = watch.pids(lab.lab_id)
    state: State = "works" if len(alive) == 2 else "fails" if alive else "ended"
    return _row("watcher", "", state, alive[0] if alive else 0, "" if state == "works" else f"{len(alive)} of 2 run")


def _row(name: str, version: str, state: State, pid: int, detail: str = "") -> Row:
    try:
        process = psutil.Process(pid)
        memory, begun = process.memory_info().rss, datetime.fromtimestamp(process.create_time(), UTC)
    except psutil.Error:
        return Row(name, version, "ended", 0, 0, "", detail)
    return Row(name, version, state, pid, memory, begun.isoformat(timespec="seconds"), detail)


def machine_pids(record: Record) -> dict[int, int]:
    """Pids as the lab counts, to pids as the machine counts."""
    if record.simulated:
        return {pid: pid for pid in psutil.pids()}
    found = {}
    space = Path(f"/proc/{record.pid}/ns/pid").readlink()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (folder / "ns/pid").readlink() == space:
                    line = re.search(r"^NSpid:\s+(.*)$", (folder / "status").read_text(), re.MULTILINE)
                    found[int(line[1].split()[-1]) if line else 0] = int(folder.name)
            except OSError:
                continue
    return found


def versions(lab: Lab, table: tuple[Part, ...]) -> dict[str, str]:
    """Version of each part, asked once per program file."""
    cache = lab.run / "versions.json"
    try:
        known: dict[str, str] = json.loads(cache.read_text())
    except (OSError, ValueError):
        known = {}
    asked = {part.name: part.version for part in table if part.version}
    asked["supervisord"] = (lab.python, "-m", "supervisor.supervisord", "--version")
    there = {name: Path(argv[0]) for name, argv in asked.items() if Path(argv[0]).exists()}
    keys = {name: f"{path}@{path.stat().st_mtime_ns}" for name, path in there.items()}
    fresh = {keys[name]: _version(asked[name]) for name in keys if keys[name] not in known}
    if fresh:
        replace(cache, json.dumps(known | fresh, indent=2) + "\n")
    return {part.name: "" for part in table} | {name: (known | fresh)[key] for name, key in keys.items()}


def _version(argv: tuple[str, ...]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    match = re.search(r"\d+\.\d+(\.\d+)?[-+.\w]*", done.stdout + done.stderr)
    return match[0] if match else "unknown"


def age(since: str, now: datetime) -> str:
    """How long ago a time was, in two digits or three as kubectl shows it; empty for no time."""
    if not since:
        return ""
    seconds = max(0, int((now - datetime.fromisoformat(since)).total_seconds()))
    for unit, length, enough in (("d", 86400, 2), ("h", 3600, 3), ("m", 60, 3)):
        if seconds >= enough * length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def as_table(found: Status, now: datetime) -> Table:
    """The table that ``lab status`` prints."""
    title = f"lab {found.lab_id} ({found.kind}) {found.api}".rstrip()
    table = Table("part", "version", "state", "memory", "age", "detail", title=title, title_justify="left", box=None)
    for row in found.rows:
        memory = f"{row.memory_bytes / MIB:,.0f} MiB" if row.memory_bytes else ""
        table.add_row(
            row.part, row.version, f"[{STYLES[row.state]}]{row.state}[/]", memory, age(row.since, now), row.detail
        )
    return table


def as_json(found: Status) -> str:
    """The same for programs."""
    return json.dumps(asdict(found), indent=2)
