"""Programs that tests call and that a lab builds."""

from __future__ import annotations

import shutil

import pytest

from lab import paths


def promtool() -> str:
    """Path of promtool, from this clone's lab, from its cache or from PATH; without one the test is skipped."""
    cached = sorted(paths.cache_dir().glob("tools/prometheus/*/bin/promtool"))
    found = [path for path in (paths.bin_dir() / "promtool", *reversed(cached)) if path.exists()]
    if path := (str(found[0]) if found else shutil.which("promtool")):
        return path
    pytest.skip("promtool is not built yet; `lab up` builds it")
