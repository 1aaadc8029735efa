"""``python -m tests.bench [NAME …]``: take timings, print them beside the last ones, add them to the history."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

from tests.bench.cases import CASES, LONG

HISTORY = Path(__file__).with_name("history.jsonl")
"""One line per figure: date, commit, machine size, name, seconds."""


def main() -> None:
    """Run the named cases, or all but the long ones."""
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}; long ones only when named")
    names = parser.parse_args().names or [name for name in CASES if name not in LONG]
    if unknown := sorted(set(names) - set(CASES)):
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    before = latest()
    print(f"{'CASE':<24}{'SECONDS':>10}{'BEFORE':>10}{'GOAL':>8}  NOTE")
    for name in names:
        case = CASES[name]
        seconds, note = case.take()
        shown = f"{before[name]:.2f}" if name in before else "-"
        print(f"{name:<24}{seconds:>10.2f}{shown:>10}{case.goal_s:>8}  {note}", flush=True)
        record(name, seconds, note)


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


main()
