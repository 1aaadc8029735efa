"""The write-ahead journal of a run: one JSON line per event, on disk before what it announces is done."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infra.errors import ConfigError, Unknown
from runbooks.engine.plain import plain
from runbooks.engine.state import Event, Past

FILE = "journal.jsonl"
"""Name of the journal in a run's folder."""


def now() -> str:
    """Say the time in UTC to the millisecond, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Journal:
    """The journal of one run, held by one process at a time.

    The lock on the file goes with the process, however it ends; so a journal that can be opened has no one else at it.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        """Open or make the journal.

        Args:
            durable: wait for the disk at each line; False for runs that write nothing.
        Raises:
            ConfigError: another process holds it.
            Unknown: it is damaged before its last line.
        """
        self.folder, self._durable = folder, durable
        self._mutex = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._file = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._hold()
            self.past = read(folder)
        except BaseException:
            os.close(self._file)
            raise
        self._cut_torn_line()
        if durable:
            _sync_folder(folder)

    def append(self, event: Event, **data: Any) -> None:
        """Write one line and wait until it is on disk.

        Raises:
            OSError: it is not; nothing of the line is left.
        """
        entry = {"at": now(), "event": event.value, **plain(data)}
        line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with self._mutex:
            size = os.fstat(self._file).st_size
            try:
                # One call: a line is there or not, whatever kills the process in between.
                if os.write(self._file, line) != len(line):
                    raise OSError("the disk took only a part of a line")
                if self._durable:
                    os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, size)
                raise
            self.past.add(entry)

    def note(self, event: Event, warn: Callable[[str], None], **data: Any) -> None:
        """Write a line about what is already done: when that fails, the run goes on, and so must an undo."""
        try:
            self.append(event, **data)
        except OSError as error:
            self.past.add({"at": now(), "event": event.value, **plain(data)})
            warn(f"journal — line {event.value!r} is not on disk ({error.strerror or error}) — the run goes on")

    def close(self) -> None:
        """Let go of the journal."""
        os.close(self._file)

    def _hold(self) -> None:
        # More than once, as whoever asks if it is held holds it for that moment.
        for _ in range(10):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(0.1)
        run, holder = self.folder.name, read(self.folder).holder
        raise ConfigError(
            f"run {run} — process {holder.get('pid', 'unknown')} is still at it — one at a time is allowed — "
            f"`runbook abort {run}` stops and undoes it"
        )

    def _cut_torn_line(self) -> None:
        text = (self.folder / FILE).read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            os.ftruncate(self._file, whole)


def is_held(folder: Path) -> bool:
    """Whether a process is at this run now."""
    try:
        with (folder / FILE).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def read(folder: Path) -> Past:
    """Fold a journal; a torn last line was never finished, so what it announced was never begun.

    Raises:
        Unknown: a line before the last cannot be read.
    """
    past = Past()
    for entry in entries(folder):
        past.add(entry)
    return past


def entries(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the lines of a journal.

    Raises:
        Unknown: a line before the last cannot be read.
    """
    whole, _, _ = (folder / FILE).read_bytes().rpartition(b"\n")
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            yield json.loads(line)
        except ValueError as error:
            raise Unknown(
                f"{folder / FILE} — line {number} cannot be read — every line but the last must be JSON — "
                "mend it by hand, or take back by hand what the run did"
            ) from error


def _sync_folder(folder: Path) -> None:
    """Make the new name last, too."""
    for path in (folder, folder.parent):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
