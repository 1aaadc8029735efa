"""Each drill, its engine killed while the fault is in: ``runbook undo`` takes the fault back from the journal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.cluster.lab import Lab
from runbooks.engine.discover import commands
from runbooks.lib.drill.command import loaded
from tests.lab.living_lab import get, serving_lab
from tests.lab.simulated_hosts import left_as_found

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

DRILLS = [
    drill.command() for drill in loaded(one for one in commands() if one.startswith("drills/")) if not drill.not_in_lab
]
"""All that the lab can have."""

LOCKS = ("leases", "--namespace=kube-system", "--selector=railwright.dev/lock=true")
REFUSED = 2
"""Exit code of a drill that may not begin, such as while alerts of the drill before still fire."""


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


def _start(*words: str, runs: Path) -> subprocess.Popen[str]:
    argv = [str(Path(sys.executable).with_name("runbook")), *words]
    environ = {**os.environ, "RAILWRIGHT_RUNS": str(runs)}
    return subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _has_fault(run: Path) -> bool:
    """Whether the journal says that the fault is in."""
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    return any(line["event"] == "outcome" and line["step"] == "break_it" for line in lines)


def _in_the_middle(name: str, runs: Path, within: float = 420) -> tuple[subprocess.Popen[str], str]:
    """The drill with its fault in, and the id of its run; begun anew as long as the system is not well yet."""
    end = time.monotonic() + within
    while True:
        process = _start("run", name, "--stack", "lab", "--yes", runs=runs)
        while process.poll() is None:
            assert time.monotonic() < end, f"{name} made no fault"
            found = sorted(runs.glob("*/journal.jsonl"))
            if found and _has_fault(found[-1].parent):
                return process, found[-1].parent.name
            time.sleep(0.2)
        said, _ = process.communicate()
        assert process.returncode == REFUSED, said
        assert time.monotonic() < end, said
        time.sleep(5)


@pytest.mark.parametrize("name", DRILLS, ids=str)
def test_a_drill_that_is_killed_is_undone_from_its_journal(lab: Lab, tmp_path: Path, name: str) -> None:
    """Objects, processes, mounts, interfaces and firewall are as they were, and no lock is left."""
    with left_as_found(lab):
        process, run = _in_the_middle(name, tmp_path)
        process.kill()
        process.communicate(timeout=10)
        undo = _start("undo", run, runs=tmp_path)
        said, _ = undo.communicate(timeout=600)
        assert (undo.returncode, "as it was" in said) == (0, True), said
        assert get(lab, *LOCKS)["items"] == []
