"""Bring the lab back when its first process or its link is gone; run as a pair, so that the watch comes back too.

Two processes of this program wait for one lock. The one that holds it acts: it waits for the lab's end, and
starts another to wait in line. Whichever dies, the other makes the pair whole again. Neither keeps anything in
memory that the registry does not know, and the lab does not notice their end.
"""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab import paths
from lab.cluster import marks, registry
from lab.cluster.lab import SYSTEM_PATH, Lab

LOOK_SECONDS = 2.0
"""How often the acting watcher looks after its partner and the wish of the user (s)."""

FIRST_PAUSE_SECONDS = 1.0
"""Pause before the lab is brought back (s); doubles with each time it does not hold."""

LONGEST_PAUSE_SECONDS = 60.0
"""Longest pause (s)."""

HOLD_SECONDS = 60.0
"""A lab that lived this long held; the next pause is the first again (s)."""


def main() -> None:
    """Wait in line, then watch until the user wants the lab down."""
    with held(paths.state_dir() / "run/watch.lock"):
        watch(paths.lab_id())


def watch(lab_id: str) -> None:
    """Keep the lab and the partner alive."""
    pause, partner, born = FIRST_PAUSE_SECONDS, None, time.monotonic()
    # Without its clone there is nothing to bring back, and Python might find the code of another clone.
    while paths.repo_root().is_dir() and (record := registry.read(lab_id)) and record.wanted == "up":
        if partner is None or partner.poll() is not None:
            partner = begin()
        if record.is_alive and (record.simulated or Path(f"/sys/class/net/rw-{lab_id}").exists()):
            wait_for_end(record.pid)
            continue
        if time.monotonic() - born > HOLD_SECONDS:
            pause = FIRST_PAUSE_SECONDS
        time.sleep(pause)
        pause, born = min(2 * pause, LONGEST_PAUSE_SECONDS), time.monotonic()
        argv = [sys.executable, "-m", "lab.cluster.start"]
        subprocess.run(argv, stdin=subprocess.DEVNULL, cwd=paths.repo_root(), check=False)


def wait_for_end(pid: int) -> None:
    """Return when a process ends, or a short time later."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        select.select([handle], [], [], LOOK_SECONDS)
    finally:
        os.close(handle)


def begin() -> subprocess.Popen[bytes]:
    """Start a watcher that waits in line."""
    paths.state_dir().joinpath("log").mkdir(parents=True, exist_ok=True)
    with (paths.state_dir() / "log/watcher.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "lab.cluster.watch"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=paths.repo_root(),
            env={"PATH": SYSTEM_PATH, marks.WATCHER: paths.lab_id()},
        )


def ensure(lab: Lab) -> None:
    """Start the pair if nobody holds the lock."""
    if not is_held(lab.run / "watch.lock"):
        begin()


def pids(lab_id: str) -> list[int]:
    """The pair, as far as it lives: the acting one first."""
    found = marks.processes(marks.WATCHER, lab_id)
    return [pid for pid in found if b"lab.cluster.watch" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock file, waiting as long as it takes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_held(path: Path) -> bool:
    """True while some process holds the lock file."""
    if not path.exists():
        return False
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


if __name__ == "__main__":
    main()
