"""Each drill, its engine killed while the fault is in: ``runbook undo`` takes the fault back from the journal."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from lab.cluster.lab import Lab
from runbooks.engine.discover import commands
from runbooks.lib.drill.command import loaded
from tests.lab.living_lab import serving_lab
from tests.lab.runbook_command import ended, locks, start
from tests.lab.simulated_hosts import left_as_found

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

DRILLS = [
    drill.command() for drill in loaded(one for one in commands() if one.startswith("drills/")) if not drill.not_in_lab
]
"""All that the lab can have."""

REFUSED = 2
"""Exit code of a drill that may not begin, such as while alerts of the drill before still fire."""


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


def _has_fault(run: Path) -> bool:
    """Whether the journal says that the fault is in."""
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    return any(line["event"] == "outcome" and line["step"] == "break_it" for line in lines)


def _in_the_middle(name: str, runs: Path, within: float = 420) -> tuple[subprocess.Popen[str], str]:
    """The drill with its fault in, and the id of its run; begun anew as long as the system is not well yet."""
    end = time.monotonic() + within
    while True:
        process = start("run", name, "--stack", "lab", "--yes", runs=runs)
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
        code, said = ended(start("undo", run, runs=tmp_path), within=600)
        assert (code, "as it was" in said) == (0, True), said
        assert locks(lab) == []
