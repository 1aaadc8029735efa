"""How a run ends, by what its steps say: exit code, what is left, what was undone."""

from __future__ import annotations

import pytest

from infra.errors import ConfigError
from runbooks.engine.model import Verdict
from runbooks.engine.result import Exit
from tests.runbooks.conftest import Place

DONE, UNDONE, REFUSED, UNDO_FAILED, UNKNOWN = Exit


@pytest.mark.parametrize(
    ("inputs", "exit_code", "left", "undone"),
    [
        ({}, DONE, ["a", "b"], []),
        ({"first": "stop"}, REFUSED, [], []),
        ({"first": "fail"}, UNDONE, [], []),
        ({"first": "raise"}, UNDONE, [], []),
        ({"first": "unknown"}, UNKNOWN, [], []),
        ({"first": "nothing"}, UNKNOWN, [], []),
        ({"second": "stop"}, UNDONE, [], ["b", "a"]),
        ({"second": "fail"}, UNDONE, [], ["b", "a"]),
        ({"second": "raise"}, UNDONE, [], ["b", "a"]),
        ({"second": "check"}, UNDONE, [], ["b", "a"]),
        ({"second": "unknown"}, UNDONE, [], ["b", "a"]),
        ({"second": "nothing"}, UNDONE, [], ["b", "a"]),
        ({"second": "fail", "undo": "fail"}, UNDO_FAILED, ["b"], ["a"]),
        ({"second": "fail", "undo": "raise"}, UNDO_FAILED, ["b"], ["a"]),
        ({"second": "fail", "undo": "unknown"}, UNDO_FAILED, ["b"], ["a"]),
        ({"again": "fail"}, UNDO_FAILED, [], ["b", "a"]),
        ({"again": "unknown"}, UNKNOWN, [], ["b", "a"]),
        ({"second": "fail", "again": "fail"}, UNDO_FAILED, [], ["b", "a"]),
        ({"second": "fail", "again": "unknown"}, UNKNOWN, [], ["b", "a"]),
    ],
    ids=lambda value: str(value).replace("'", "").strip("{}[]") if isinstance(value, dict) else None,
)
def test_exit_code_and_what_is_left(
    place: Place, inputs: dict[str, str], exit_code: Exit, left: list[str], undone: list[str]
) -> None:
    """Undone in reverse is what started; nothing written is nothing undone; an undo that fails is told apart."""
    result = place.execute(**inputs)
    assert (result.exit, place.files(), place.undo_log()) == (exit_code, left, undone)
    assert place.journal(result.run_id)[-1]["exit"] == exit_code


def test_a_dry_run_writes_nothing_and_says_what_it_would(place: Place) -> None:
    """No file, no lock, no audit; the wishes are in the result."""
    result = place.execute(yes=False)
    assert (result.exit, place.files(), place.audit()) == (DONE, [], [])
    assert [step.would for step in result.steps[1:3]] == [
        (f"write {place.folder}/a",),
        (f"write {place.folder}/b",),
    ]
    assert not (place.runs / "locks").exists()


def test_every_reason_not_to_begin_is_told_at_once(place: Place) -> None:
    """Refusals of the runbook and of the engine together, and nothing is written."""
    (place.folder / "closed").touch()
    broken = place.execute(second="fail", undo="fail")
    assert broken.exit is REFUSED
    (place.folder / "closed").unlink()
    assert place.execute(second="fail", undo="fail").exit is UNDO_FAILED
    (place.folder / "closed").touch()
    result = place.execute()
    assert result.exit is REFUSED
    assert result.refused[0] == "folder is closed"
    assert "broke off and left write_b" in result.refused[1]
    assert place.files() == ["b", "closed"]


def test_a_selector_that_matches_nothing_is_refused(place: Place) -> None:
    """ConfigError from targets ends the run before its first step."""
    result = place.execute(folder=place.root / "nowhere")
    assert (result.exit, result.steps) == (REFUSED, ())
    assert "is not there" in result.refused[0]


def test_a_surprise_leaves_its_traceback_in_the_journal_and_one_sentence_on_screen(place: Place) -> None:
    """People read a sentence; who mends the runbook reads the trace."""
    result = place.execute(second="raise")
    told = [entry for entry in place.journal(result.run_id) if "trace" in entry]
    assert [entry["step"] for entry in told] == ["write_b"]
    assert "KeyError: 'surprise'" in told[0]["trace"]
    assert "Traceback" not in place.screen.text()
    assert ("fail", "KeyError: 'surprise'") in place.screen.lines


def test_a_finished_run_can_be_taken_back_and_twice_is_once(place: Place) -> None:
    """Undo is idempotent and touches only what this run wrote."""
    first = place.execute()
    (place.folder / "a").write_text("somebody else's")
    assert place.undo(first.run_id).exit is DONE
    assert place.files() == ["a"]
    again = place.undo(first.run_id)
    assert (again.exit, again.said, place.undo_log()) == (DONE, "nothing is left to undo", ["b", "a"])


def test_undo_that_failed_is_done_again_until_it_works(place: Place) -> None:
    """Exit 3 leaves the step on the list; the ones undone are not undone again."""
    failed = place.execute(second="fail", undo="fail")
    assert place.undo(failed.run_id).exit is UNDO_FAILED
    assert place.undo_log() == ["a"]
    assert [step.name for step in place.undo(failed.run_id).undone] == ["write_b"]


@pytest.mark.usefixtures("no_patience")
@pytest.mark.parametrize("fault", ["hang", "hang_c", "until"])
def test_a_step_that_hangs_does_not_hang_the_run(place: Place, fault: str) -> None:
    """In Python, in C or in a wait of ours: it is left behind after its timeout, and undone."""
    result = place.execute(book="sample/run_late", second=fault)
    assert (result.exit, place.files()) == (UNDONE, [])
    assert result.steps[-1].verdict is Verdict.UNKNOWN
    assert result.steps[-1].said == "no end after 1 s"
    assert result.hanging == (("write_b",) if fault == "hang_c" else ())


@pytest.mark.usefixtures("no_patience")
def test_an_undo_that_hangs_is_a_failed_undo_and_the_others_still_run(place: Place) -> None:
    """Exit 3, within the timeout of its step."""
    result = place.execute(book="sample/run_late", second="fail", undo="hang_c")
    assert (result.exit, place.files(), place.undo_log()) == (UNDO_FAILED, ["b"], ["a"])


def test_the_deadline_ends_the_run_and_undoes_it(place: Place) -> None:
    """A blocking sleep is woken."""
    result = place.execute(book="sample/run_late", lasts=60)
    assert (result.exit, place.files()) == (UNDONE, [])
    assert "deadline of 3 s" in result.said
    assert result.seconds < 15


def test_the_deadline_does_not_cut_the_undo(place: Place) -> None:
    """Undo has its own time, though the run has none left."""
    result = place.execute(book="sample/run_late", lasts=60)
    assert [step.verdict for step in result.undone] == [Verdict.OK, Verdict.OK]


@pytest.mark.parametrize(
    ("do", "there", "offered"),
    [("nothing", False, ["restart"]), ("nothing", True, []), ("restart", False, [])],
    ids=["missing", "healthy", "already doing"],
)
def test_a_diagnosis_offers_what_it_allows_with_the_command(
    place: Place, do: str, there: bool, offered: list[str]
) -> None:
    """The exact command; nothing when nothing is to be done."""
    file = place.root / "file"
    if there:
        file.touch()
    result = place.execute(book="sample/choose_cure", yes=False, file=file, do=do)
    assert [offer.do for offer in result.offers] == offered
    for offer in result.offers:
        command = f"runbook run sample/choose_cure --stack lab --file {file} --do restart --yes"
        assert (offer.command, offer.steps) == (command, ("write the file",))


def test_nothing_is_resumed_of_a_run_that_only_looked(place: Place) -> None:
    """Dry runs have nothing to take up or back."""
    looked = place.execute(yes=False)
    with pytest.raises(ConfigError, match="only looked"):
        place.undo(looked.run_id)
