"""One ``lab up`` or ``lab down`` at a time in one clone."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.errors import ConfigError


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold a lock that goes away with this process, however it ends.

    Raises:
        ConfigError: another process holds it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            raise ConfigError(
                f"lab — process {file.read() or 'unknown'} is changing it — one change at a time is allowed — "
                "wait for it to end, or end it"
            ) from error
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
