"""Which code a run was begun with."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from runbooks.engine.model import Runbook


def digest(runbook: type[Runbook]) -> str:
    """Digest of the files that declare a runbook and its bases; a run is not resumed with other steps."""
    read = hashlib.sha256()
    for owner in runbook.__mro__:
        if owner is Runbook:
            break
        file = sys.modules[owner.__module__].__file__
        read.update(Path(file).read_bytes() if file else owner.__qualname__.encode())
    return read.hexdigest()
