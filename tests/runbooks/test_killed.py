"""A run that is killed anywhere comes to a good end: resumed, or taken back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from infra.errors import ConfigError
from runbooks.engine.journal import FILE, Journal
from runbooks.engine.result import Exit
from runbooks.engine.state import Event
from tests.runbooks.conftest import Place

WHOLE = [
    "run",
    "plan",
    *["step", "outcome"],
    *["step", "record", "outcome"] * 2,
    *["step", "outcome"],
    "recheck",
    "end",
]
"""Lines in the journal of a run that goes well."""
FAILED = [*WHOLE[:10], *["undo", "undone"] * 2, "recheck", "end"]
"""Lines in the journal of one whose second write fails."""
WAYS = ["before", "torn", "after"]
"""Where the kill comes: before a line is written, in the middle of it, once it is on disk."""


def killed(place: Place, at: int, way: str, act: Callable[[], Any]) -> None:
    """Do something in a process of its own that is killed -9 at its n-th journal line."""
    child = os.fork()
    if child == 0:
        try:
            _kill_self_at(at, way)
            act()
        finally:
            os._exit(99)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "it was to be killed, and was not"
    assert os.WTERMSIG(status) == signal.SIGKILL


def _kill_self_at(at: int, way: str) -> None:
    original, count = Journal.append, 0

    def append(self: Journal, event: Event, **data: Any) -> None:
        nonlocal count
        count += 1
        if count == at and way == "torn":
            with (self.folder / FILE).open("ab") as file:
                file.write(b'{"at":"2026-12-02T00:00:00Z","event":"st')
        if count == at and way != "after":
            os.kill(os.getpid(), signal.SIGKILL)
        original(self, event, **data)
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)

    Journal.append = append  # type: ignore[method-assign]


def the_run(place: Place) -> str:
    (run,) = place.run_ids()
    return run


def undone(place: Place) -> None:
    """Take the run back, twice; nothing of it is left."""
    try:
        assert place.undo(the_run(place)).exit is Exit.DONE
        assert place.undo(the_run(place)).exit is Exit.DONE
    except ConfigError as error:
        assert "before anything was recorded" in str(error)  # noqa: PT017  one of two good ends
    assert place.files() == ["theirs"]


@pytest.fixture(autouse=True)
def _somebody_elses(place: Place) -> None:
    (place.folder / "theirs").write_text("not ours")


def test_the_lists_above_are_what_journals_hold(place: Place) -> None:
    """Otherwise the tests below would miss a line."""
    assert [entry["event"] for entry in place.journal(place.execute().run_id)] == WHOLE
    place.undo(the_run(place))
    assert [entry["event"] for entry in place.journal(place.execute(second="fail").run_id)] == FAILED


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", range(1, len(WHOLE) + 1), ids=lambda at: f"{at}-{WHOLE[at - 1]}")
def test_undo_after_a_kill_leaves_nothing(place: Place, at: int, way: str) -> None:
    """Whatever line the kill -9 met."""
    killed(place, at, way, place.execute)
    undone(place)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", range(1, len(WHOLE) + 1), ids=lambda at: f"{at}-{WHOLE[at - 1]}")
def test_resume_after_a_kill_ends_well_or_had_nothing_to_do(place: Place, at: int, way: str) -> None:
    """Finished steps are skipped, the one that was under way is done again; both files are there."""
    killed(place, at, way, place.execute)
    try:
        result = place.resume(the_run(place))
    except ConfigError as error:
        begun = WHOLE[at - 1] in ("run", "plan") or (WHOLE[at - 1], way) == ("end", "after")
        assert begun, error  # noqa: PT017  the only moments at which there is nothing to resume
        return
    assert (result.exit, place.files()) == (Exit.DONE, ["a", "b", "theirs"])
    ran = [entry["step"] for entry in place.journal(result.run_id) if entry["event"] == "outcome"]
    assert ran == ["look", "write_a", "write_b", "read"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("at", range(11, len(FAILED) + 1), ids=lambda at: f"{at}-{FAILED[at - 1]}")
@pytest.mark.parametrize("then", ["undo", "resume"])
def test_an_undo_that_is_killed_is_finished_later(place: Place, at: int, way: str, then: str) -> None:
    """By undo, and by resume, which does not go forward again once an undo had begun."""
    killed(place, at, way, lambda: place.execute(second="fail"))
    if (
        then == "resume"
        and (FAILED[at - 1], way) != ("end", "after")
        and (at, way) not in ((11, "before"), (11, "torn"))
    ):
        assert place.resume(the_run(place)).exit is Exit.DONE
    undone(place)


@pytest.mark.parametrize("first", [4, 6, 8, 9])
@pytest.mark.parametrize("second", [1, 2, 3, 4])
def test_kills_upon_kills_still_end_in_a_clean_undo(place: Place, first: int, second: int) -> None:
    """Killed, resumed and killed, undone and killed, undone."""
    killed(place, first, "after", place.execute)
    killed(place, second, "before", lambda: place.resume(the_run(place)))
    killed(place, 2, "torn", lambda: place.undo(the_run(place)))
    undone(place)


def test_nothing_begins_on_top_of_what_a_dead_run_left(place: Place) -> None:
    """A second run in the scope is refused with the command that cleans up, lock or no lock."""
    killed(place, 9, "after", place.execute)
    for lock in (place.runs / "locks").glob("*.json"):
        lock.unlink()
    result = place.execute()
    assert result.exit is Exit.REFUSED
    assert f"`runbook undo {place.run_ids()[0]}` first" in result.refused[0]
    assert place.execute(scope="elsewhere", second="stop").exit is not Exit.REFUSED


def test_a_run_is_not_resumed_with_other_steps(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The digest of its source differs: refused, and undo still works, with a warning."""
    killed(place, 7, "after", place.execute)
    monkeypatch.setattr("runbooks.engine.run.digest", lambda book: "other")
    with pytest.raises(ConfigError, match="has changed since it began"):
        place.resume(the_run(place))
    undone(place)
    assert "its undo of today is used" in place.screen.text()


def test_undo_of_the_dead_takes_the_lock_it_still_holds(place: Place) -> None:
    """The lock of the same run is no obstacle, and is gone afterwards."""
    killed(place, 9, "after", place.execute)
    assert len(list((place.runs / "locks").glob("*.json"))) == 1
    undone(place)
    assert list((place.runs / "locks").glob("*.json")) == []


def test_a_run_that_goes_on_can_neither_be_undone_nor_resumed_from_outside(place: Place) -> None:
    """Its process must be stopped instead, and the sentence says how."""
    result = place.execute()
    holder = Journal(place.runs / result.run_id)
    with pytest.raises(ConfigError, match=f"runbook abort {result.run_id}"):
        place.undo(result.run_id)
    holder.close()
