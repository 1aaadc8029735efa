"""Locks as files: for tests, and for one machine while its cluster does not answer."""

from __future__ import annotations

import fcntl
import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from runbooks.engine.lock import Lock
from runbooks.engine.plain import plain


class FileLocks:
    """A folder with one file per lock."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> list[Lock]:
        """Every lock there is."""
        return [_read(path) for path in sorted(self._folder.glob("*.json"))] if self._folder.exists() else []

    def create(self, lock: Lock) -> bool:
        """Store a new lock; False when there is one for this very scope."""
        with self._alone():
            return not self._path(lock).exists() and self._write(lock)

    def replace(self, old: Lock, new: Lock) -> bool:
        """Store ``new`` over ``old``; False when ``old`` is no longer what is stored."""
        with self._alone():
            return self._is_stored(old) and self._write(new)

    def delete(self, old: Lock) -> bool:
        """Remove a lock; False when ``old`` is no longer what is stored."""
        with self._alone():
            if not self._is_stored(old):
                return False
            self._path(old).unlink()
            return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / ".mutex").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _is_stored(self, lock: Lock) -> bool:
        path = self._path(lock)
        if not path.exists():
            return False
        stored = _read(path)
        return (stored.version or stored.renewed) == (lock.version or lock.renewed)

    def _write(self, lock: Lock) -> bool:
        path = self._path(lock)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(plain(replace(lock, version=uuid.uuid4().hex))))
        new.replace(path)
        return True

    def _path(self, lock: Lock) -> Path:
        return self._folder / f"{quote(lock.scope, safe='')}.json"


def _read(path: Path) -> Lock:
    told: dict[str, Any] = json.loads(path.read_text())
    times = {name: datetime.fromisoformat(told[name]) for name in ("taken", "renewed")}
    return Lock(**{**told, **times, "ttl": timedelta(seconds=told["ttl"])})
