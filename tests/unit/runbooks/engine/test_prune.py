"""Old records go; what still has to be taken back, or goes on, stays."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infra.errors import ConfigError
from runbooks.engine.history import folders
from runbooks.engine.journal import FILE, Journal
from runbooks.engine.prune import removable, remove, run

OLD, NEW = "2026-01-01T00:00:00.000Z", "2026-11-30T00:00:00.000Z"
BEFORE = datetime(2026, 6, 1, tzinfo=UTC)


def record(runs: Path, name: str, at: str, *events: dict[str, Any], acts: bool = True) -> None:
    lines = [{"event": "run", "run_id": name, "acts": acts}, {"event": "step", "step": "a", "writes": True}, *events]
    (runs / name).mkdir(parents=True)
    (runs / name / FILE).write_text("".join(json.dumps({"at": at, **line}) + "\n" for line in lines))


def end(code: int) -> dict[str, Any]:
    return {"event": "end", "exit": code, "said": ""}


UNDONE = {"event": "undone", "step": "a", "verdict": "ok", "said": ""}


@pytest.mark.parametrize(
    ("at", "events", "goes"),
    [
        (OLD, [end(0)], True),
        (OLD, [UNDONE, end(1)], True),
        (OLD, [UNDONE, end(4)], True),
        (OLD, [end(4)], False),
        (OLD, [end(3)], False),
        (OLD, [], False),
        (NEW, [end(0)], False),
    ],
    ids=["done", "undone", "unknown, undone", "unknown, open", "undo failed", "broken off", "new"],
)
def test_only_old_runs_that_left_nothing_open_go(
    tmp_path: Path, at: str, events: list[dict[str, Any]], goes: bool
) -> None:
    """A run that broke off, or whose undo failed, is what `runbook undo` needs its record for."""
    record(tmp_path, "r", at, *events)
    assert [path.name for path in removable(tmp_path, BEFORE)] == (["r"] if goes else [])


def test_a_run_that_only_looked_goes_even_broken_off(tmp_path: Path) -> None:
    """There is nothing to take back."""
    record(tmp_path, "r", OLD, acts=False)
    assert list(removable(tmp_path, BEFORE)) == [tmp_path / "r"]


def test_a_damaged_record_stays(tmp_path: Path) -> None:
    """Nobody can tell what it did."""
    record(tmp_path, "r", OLD, end(0))
    (tmp_path / "r" / FILE).write_text("###\n" + (tmp_path / "r" / FILE).read_text())
    assert list(removable(tmp_path, BEFORE)) == []


def test_a_run_that_a_process_is_at_stays(tmp_path: Path) -> None:
    """However old its last line is: it may be resumed at this moment."""
    record(tmp_path, "r", OLD, end(0))
    journal = Journal(tmp_path / "r")
    assert list(removable(tmp_path, BEFORE)) == []
    journal.close()


def test_a_removal_that_was_broken_off_is_finished_by_the_next(tmp_path: Path) -> None:
    """And its half record is never taken for a run."""
    record(tmp_path, ".pruned-r", OLD, end(0))
    assert folders(tmp_path) == []
    remove(tmp_path, [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("yes", [False, True], ids=["dry", "yes"])
def test_nothing_goes_without_yes_and_the_audit_stays(tmp_path: Path, yes: bool) -> None:
    """Dry by default, as everything that writes."""
    record(tmp_path, "r", OLD, end(0))
    (tmp_path / "audit.jsonl").write_text("{}\n")
    said: list[str] = []
    site = SimpleNamespace(runs=tmp_path, screen=SimpleNamespace(line=lambda _, text: said.append(text)))
    assert run(SimpleNamespace(older="30d", yes=yes, json=False, site=site)) == 0
    assert ((tmp_path / "r").exists(), (tmp_path / "audit.jsonl").exists()) == (not yes, True)
    assert said[0] == f"{'removed' if yes else 'would remove'} run r"


def test_an_age_that_is_none_is_refused(tmp_path: Path) -> None:
    """By name and with what is allowed."""
    with pytest.raises(ConfigError, match="--older — 'soon' was found"):
        run(SimpleNamespace(older="soon", yes=True, json=False, site=SimpleNamespace(runs=tmp_path)))
