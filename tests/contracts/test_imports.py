"""Imports go one way, as pyproject.toml says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def test_every_import_contract_is_kept() -> None:
    """The layers, the pure plan, the lab apart, the judge apart."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    ended = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert " 0 broken" in ended.stdout
