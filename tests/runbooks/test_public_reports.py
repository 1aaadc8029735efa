"""What users of other engines reported, tried on this one; each test is named for the symptom.

Source: chaos-observability reference, section 6, and the krkn reports of the aesthetics reference, section 6.
"""

from __future__ import annotations

import signal

import pytest

from runbooks.engine.journal import Journal
from runbooks.engine.result import Exit, worst
from tests.runbooks.conftest import Place


@pytest.mark.parametrize("fault", ["fail", "raise", "check", "unknown", "stop"])
def test_rollbacks_do_not_play_when_the_hypothesis_deviates(place: Place, fault: str) -> None:
    """chaostoolkit#258, #195, lib#189: undone after any deviation, and the verdict is not success."""
    result = place.execute(second=fault)
    assert (result.exit, place.files()) == (Exit.UNDONE, [])


@pytest.mark.parametrize("gate", ["stop", "fail", "unknown", "raise"])
def test_rollback_runs_although_the_gate_failed_before_anything_was_injected(place: Place, gate: str) -> None:
    """chaostoolkit#168, lib#190: exactly what was injected is undone; here nothing."""
    place.execute(first=gate)
    assert place.undo_log() == []


def test_rollback_runs_for_faults_that_were_never_injected(place: Place) -> None:
    """chaostoolkit#168: of two faults only the first was begun, so only it is undone."""
    (place.folder / "a").write_text("somebody else's")
    assert place.execute().exit is Exit.UNDONE
    assert (place.undo_log(), place.files()) == (["a"], ["a"])


def test_a_rollback_that_breaks_the_app_is_still_reported_as_success(place: Place) -> None:
    """chaostoolkit-lib#94: the steady state is asked again after undo; not steady is exit 3."""
    result = place.execute(second="fail", again="fail")
    assert all(step.verdict == "ok" for step in result.undone)
    assert result.exit is Exit.UNDO_FAILED


def test_a_node_stays_out_when_the_runner_is_killed_in_the_middle(place: Place) -> None:
    """krkn#916, PRs 1210, 1257: SIGKILL while the fault is in; a later process takes it back."""
    run = place.start_writing("--lasts", "5m")
    place.wait_for("b")
    run.kill()
    run.communicate(timeout=30)
    assert place.files() == ["a", "b"]
    code = place.start("undo", "--local-lock", place.run_ids()[0]).wait(60)
    assert (code, place.files()) == (0, [])


@pytest.mark.parametrize(
    ("exits", "whole"),
    [
        ([1, 0], 1),
        ([0, 1, 0], 1),
        ([3, 1, 4], 3),
        ([4, 0], 4),
        ([2, 0], 2),
        ([4, 2], 4),
        ([1, 4], 1),
        ([0, 0], 0),
        ([], 4),
    ],
    ids=str,
)
def test_a_failed_first_scenario_is_overwritten_by_a_later_success(exits: list[int], whole: int) -> None:
    """krkn#1177, #396: the worst outcome wins, and no run at all is no success."""
    assert worst(map(Exit, exits)) == whole


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_debris(place: Place, number: signal.Signals) -> None:
    """krkn#760, krkn-ai PR 121: a signal undoes."""
    run = place.start_writing("--lasts", "5m")
    place.wait_for("b")
    run.send_signal(number)
    run.communicate(timeout=30)
    assert (run.returncode, place.files()) == (1, [])


def test_the_journal_is_kept_in_memory_until_the_end(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chaos Toolkit: what a step is about to write is on disk before the write, flushed."""
    synced: list[str] = []
    original = Journal.append

    def append(self: Journal, event: str, **data: object) -> None:
        original(self, event, **data)  # type: ignore[arg-type]
        synced.append(f"{event.rsplit('.', maxsplit=1)[-1]}:{','.join(place.files())}")

    monkeypatch.setattr(Journal, "append", append)
    place.execute()
    assert synced.index("record:") < synced.index("record:a")
    assert "step:" in synced


def test_an_slo_without_data_is_dropped_from_the_score(place: Place) -> None:
    """krkn's score: no data is no pass; exit 4 before a write, undone after one."""
    assert place.execute(first="nothing").exit is Exit.UNKNOWN
    assert place.execute(second="nothing").exit is Exit.UNDONE
