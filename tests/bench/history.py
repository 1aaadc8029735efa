"""Figures as they were taken, one line each."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

HISTORY = Path(__file__).with_name("history.jsonl")
"""One line per figure: date, commit, machine size, name, seconds."""


def latest() -> dict[str, float]:
    """Newest figure of each case in the history (s)."""
    lines = HISTORY.read_text(encoding="utf-8").splitlines() if HISTORY.exists() else []
    return {row["case"]: row["seconds"] for row in map(json.loads, lines)}


def record(name: str, seconds: float, note: str) -> None:
    """Add one figure to the history."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    row: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "case": name,
        "seconds": round(seconds, 2),
        "note": note,
    }
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
