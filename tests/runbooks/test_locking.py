"""One run at a time in a scope, over processes, dead runs and a store that is away."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from infra.errors import ConfigError, Unknown
from runbooks.engine.file_locks import FileLocks
from runbooks.engine.lock import Held, Lock, acquire, utc_now
from runbooks.engine.result import Exit
from tests.runbooks.conftest import Place, wait_until


def a_lock(scope: str = "lab", run_id: str = "r1", *, age_s: float = 0, ttl_s: float = 900) -> Lock:
    at = utc_now() - timedelta(seconds=age_s)
    return Lock(scope, run_id, "ann@box pid 7", "why", at, at, timedelta(seconds=ttl_s))


def take(locks: FileLocks, wanted: Lock, *, by_force: bool = False) -> list[Lock]:
    broken: list[Lock] = []
    acquire(locks, wanted, by_force=by_force, broke=broken.append)
    return broken


def test_a_second_process_in_the_scope_is_refused_and_told_who_holds_it(place: Place) -> None:
    """Exit 2, nothing touched: who, since when, why, and what to do."""
    first = place.start_writing("--lasts", "5m", "--reason", "first was here")
    place.wait_for("b")
    second = place.start_writing("--reason", "me too")
    said, _ = second.communicate(timeout=60)
    first.terminate()
    first.communicate(timeout=60)
    assert second.returncode == 2
    for word in ("'lab/folder/x' is held by", f"pid {first.pid}", "first was here", "runbook abort", "last heard"):
        assert word in said


def test_two_processes_that_start_together_never_both_run(place: Place) -> None:
    """Of four at the same moment at most one writes at a time; losers exit 2."""
    runs = [place.start_writing("--lasts", "500ms") for _ in range(4)]
    codes = [(run.communicate(timeout=120), run.returncode)[1] for run in runs]
    assert set(codes) <= {0, 1, 2}
    # Exit 1 is a later one that found the files of the one before it; files never belong to two runs.
    assert codes.count(0) == 1
    assert len({path.read_text() for path in place.folder.iterdir()}) == 1


def test_the_lock_is_gone_after_the_run(place: Place) -> None:
    """Whether it ended well or was undone."""
    for fault in ("none", "fail"):
        place.execute(second=fault)
        assert FileLocks(place.runs / "locks").all() == []


@pytest.mark.parametrize(
    ("held", "wanted", "conflict"),
    [
        ("lab", "lab", True),
        ("lab", "lab/pool/b300", True),
        ("lab/pool/b300", "lab", True),
        ("lab/pool/b300", "lab/pool/b200", False),
        ("lab", "lab2", False),
        ("lab/pool/b300", "lab/pool/b300-2", False),
    ],
)
def test_a_scope_conflicts_with_what_contains_it_and_what_it_contains(
    tmp_path: Path, held: str, wanted: str, conflict: bool
) -> None:
    """And with nothing beside it."""
    locks = FileLocks(tmp_path)
    take(locks, a_lock(held))
    if conflict:
        with pytest.raises(ConfigError, match="is held by ann@box pid 7, run r1"):
            take(locks, a_lock(wanted, "r2"))
    else:
        take(locks, a_lock(wanted, "r2"))
    assert len(locks.all()) == 1 + (not conflict)


@pytest.mark.parametrize(("held", "wanted"), [("lab", "lab"), ("lab/pool/b300", "lab")], ids=["same", "inside"])
def test_an_expired_lock_can_be_taken_and_its_run_notices(tmp_path: Path, held: str, wanted: str) -> None:
    """The one that comes back to life finds its lock gone and stops."""
    locks, lost = FileLocks(tmp_path), []
    old = a_lock(held, age_s=1000)
    take(locks, old)
    assert [lock.run_id for lock in take(locks, a_lock(wanted, "r2"))] == ["r1"]
    Held(locks, old, lost.append, every_s=0.05)
    wait_until(lambda: bool(lost))
    assert "was taken by somebody else" in lost[0]
    assert [lock.run_id for lock in locks.all()] == ["r2"]


def test_force_breaks_a_live_lock_and_says_whose_it_was(tmp_path: Path) -> None:
    """Told before it is taken, so that the audit has it."""
    locks = FileLocks(tmp_path)
    take(locks, a_lock())
    assert [lock.owner for lock in take(locks, a_lock("lab/x", "r2"), by_force=True)] == ["ann@box pid 7"]
    assert [lock.run_id for lock in locks.all()] == ["r2"]


def test_a_run_whose_lock_is_broken_stops_and_undoes(place: Place) -> None:
    """It must not go on beside whoever took it; the break is in the audit."""
    first = place.start_writing("--lasts", "5m", env={"RAILWRIGHT_TEST_RENEW": "0.2"})
    place.wait_for("b")
    second = place.start_writing("--break-lock", "--first", "stop")
    said, _ = second.communicate(timeout=60)
    ended, _ = first.communicate(timeout=60)
    assert (first.returncode, place.files()) == (1, [])
    assert "was taken by somebody else" in ended
    assert "takes a lock away" in said
    assert [entry["lock"] for entry in place.audit() if entry["event"] == "break lock"]


class Moody(FileLocks):
    """A store whose server is away at times."""

    away = False

    def all(self) -> list[Lock]:
        if self.away:
            raise Unknown("the API server does not answer")
        return super().all()


def test_a_lock_survives_a_store_that_is_away_for_less_than_its_time(tmp_path: Path) -> None:
    """The renewals go on once it is back; the run is not stopped."""
    locks, lost = Moody(tmp_path), []
    lock = a_lock(ttl_s=60)
    take(locks, lock)
    held = Held(locks, lock, lost.append, every_s=0.05)
    locks.away = True
    time.sleep(0.3)
    locks.away = False
    back = utc_now()
    wait_until(lambda: locks.all()[0].renewed > back)
    assert lost == []
    assert held.release() == ""
    assert locks.all() == []


def test_a_run_stops_before_others_may_take_its_lock(tmp_path: Path) -> None:
    """A store that stays away costs the lock one renewal before it expires."""
    locks, lost = Moody(tmp_path), []
    lock = a_lock(ttl_s=0.5)
    take(locks, lock)
    locks.away, begun = True, time.monotonic()
    Held(locks, lock, lost.append, every_s=0.05)
    wait_until(lambda: bool(lost))
    assert "could not be renewed (the API server does not answer)" in lost[0]
    assert time.monotonic() - begun < 0.5 + 0.2


def test_many_at_once_get_one_lock(tmp_path: Path) -> None:
    """Parent and child scopes, asked for at the same moment by threads: one has it, or none, never two."""
    locks, won = FileLocks(tmp_path), []

    def attempt(number: int) -> None:
        wanted = a_lock("lab" if number % 2 else "lab/x", f"r{number}")
        try:
            take(locks, wanted)
            won.append(number)
        except ConfigError:
            pass

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) <= 1
    assert len(locks.all()) == len(won)


def test_a_store_that_does_not_answer_is_cannot_tell_and_nothing_is_touched(place: Place) -> None:
    """Exit 4 to begin; undo goes on without the lock, as it may be what brings the store back."""
    from dataclasses import replace

    from runbooks.engine.discover import load
    from runbooks.engine.run import Consent, execute, undo

    done = place.execute()
    store = Moody(place.runs / "locks")
    store.away = True
    site = replace(place.site, locks=lambda stack: store)
    book = load("sample/write_files")
    inputs = book.Inputs.model_validate({"folder": place.folder, "scope": "y"})
    assert execute(book, inputs, stack="lab", site=site, consent=Consent(yes=True)).exit is Exit.UNKNOWN
    assert place.files() == ["a", "b"]
    threading.Timer(1, lambda: setattr(store, "away", False)).start()
    assert undo(done.run_id, load=load, site=site).exit is Exit.DONE
    assert place.files() == []
