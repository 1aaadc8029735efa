"""Run other programs: output kept in a log, the newest line shown, the last lines named on failure."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from infra.errors import CheckError
from lab import paths
from lab.cluster import marks
from lab.steps import Report

TAIL_LINES = 15
"""How many of a log's last lines an error shows (count)."""


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, indented, for use in an error."""
    text = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"    {line}" for line in text[-lines:])


def run_logged(
    argv: Sequence[str], log: Path, report: Report, *, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> None:
    """Run a program to its end.

    Args:
        argv: program and arguments; no shell.
        log: file that gets everything it says; made new.
        report: told each line that is not empty.
    Raises:
        CheckError: it ended with another code than 0; the message holds the log's last lines.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", buffering=1) as out:
        out.write(f"$ {' '.join(argv)}\n")
        with subprocess.Popen(
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            env=None if env is None else dict(env),
            cwd=cwd,
        ) as process:
            for line in process.stdout or ():
                out.write(line)
                if line.strip():
                    report(line.strip())
    if process.returncode:
        raise CheckError(
            f"{Path(argv[0]).name} — ended with code {process.returncode}, 0 was expected — read its last lines:\n"
            f"{tail(log)}\n  log: {log}"
        )


def end_children(patience_s: float) -> None:
    """End the programs that this one started and that would outlive it; daemons of the lab are left alone.

    A daemon has a session of its own; a build, a download or a ``pulumi up`` shares ours.

    Args:
        patience_s: how long they may take on their own, where a terminal's Ctrl-C reached them already (s): a second
            signal would make Pulumi leave without writing down what it did.
    """
    session = os.getsid(0)
    _end([child for child in psutil.Process().children(recursive=True) if _session(child) == session], patience_s)


def end_orphans(report: Report) -> None:
    """End what a killed ``lab up`` left running; for a caller that holds its lock, so that nobody waits for them."""
    orphans = []
    for pid in marks.processes(marks.PROGRAM, paths.lab_id()):
        with suppress(psutil.NoSuchProcess):
            orphans.append(psutil.Process(pid))
    if orphans:
        report(f"ending what a killed `lab up` left: {', '.join(str(orphan.pid) for orphan in orphans)}")
    _end(orphans, patience_s=0.0)


def _end(alive: list[psutil.Process], patience_s: float) -> None:
    """Wait, then interrupt as Ctrl-C does, so that Pulumi writes down what it did, then kill."""
    _, alive = psutil.wait_procs(alive, timeout=patience_s)
    for number in (signal.SIGINT, signal.SIGKILL):
        for child in alive:
            _send(child, number)
        _, alive = psutil.wait_procs(alive, timeout=10)


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except ProcessLookupError:
        return -1


def _send(process: psutil.Process, number: int) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return
