"""Programs that tests call and that a lab builds."""

from __future__ import annotations

import shutil

import pytest

from lab import paths


def promtool() -> str:
    """Path of promtool, from this clone's lab, from its cache or from PATH; without one the test is skipped."""
    return _built("prometheus", "promtool")


def alertmanager() -> str:
    """Path of Alertmanager, found in the same places."""
    return _built("alertmanager", "alertmanager")


def node_exporter() -> str:
    """Path of node exporter, found in the same places."""
    return _built("node_exporter", "node_exporter")


def _built(tool: str, program: str) -> str:
    cached = sorted(paths.cache_dir().glob(f"tools/{tool}/*/bin/{program}"))
    found = [path for path in (paths.bin_dir() / program, *reversed(cached)) if path.exists()]
    if path := (str(found[0]) if found else shutil.which(program)):
        return path
    pytest.skip(f"{program} is not built yet; `lab up` builds it")
