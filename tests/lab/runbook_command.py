"""``runbook`` as a user starts it, with records of its own, and the locks that it may leave."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab.cluster.lab import Lab
from tests.lab.living_lab import get


def start(*words: str, runs: Path) -> subprocess.Popen[str]:
    """Start the command; a signal to it reaches nobody else."""
    argv = [str(Path(sys.executable).with_name("runbook")), *words]
    environ = {**os.environ, "RAILWRIGHT_RUNS": str(runs)}
    return subprocess.Popen(
        argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def ended(process: subprocess.Popen[str], within: float = 120) -> tuple[int, str]:
    """Exit code and all that was printed, within so many seconds."""
    said, _ = process.communicate(timeout=within)
    return process.returncode, said


def locks(lab: Lab) -> list[Any]:
    """Locks that are held in the cluster."""
    found: list[Any] = get(lab, "leases", "--namespace=kube-system", "--selector=railwright.dev/lock=true")["items"]
    return found
