"""Signals undo at once, and only once."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from contextlib import suppress

import pytest

from runbooks.engine.result import Exit
from tests.runbooks.conftest import Place, wait_until

SOON_S = 20
"""Seconds for an undo that takes none, on a machine with much else to do; the waits it ends are 60 s and more."""


def ended(run: subprocess.Popen[str], within_s: float = SOON_S) -> tuple[int, str]:
    said, _ = run.communicate(timeout=within_s)
    return run.returncode, said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_a_blocking_sleep_and_undoes(place: Place, number: signal.Signals) -> None:
    """Exit 1, nothing left, the signal named."""
    run = place.start_writing("--lasts", "5m")
    place.wait_for("b")
    run.send_signal(number)
    code, said = ended(run)
    assert (code, place.files(), place.undo_log()) == (1, [], ["b", "a"])
    assert f"stopped by {number.name}" in said


@pytest.mark.parametrize("fault", ["until", "hang", "hang_c"])
def test_a_signal_ends_a_step_that_does_not_listen(place: Place, fault: str) -> None:
    """A poll, a loop that swallows everything, a call that blocks in C: undone, and the process ends."""
    run = place.start_writing("--second", fault)
    place.wait_for("b")
    run.send_signal(signal.SIGTERM)
    code, _ = ended(run)
    assert (code, place.files()) == (1, [])


def test_a_second_signal_does_not_stop_the_undo(place: Place) -> None:
    """Nor a third; it says so and goes on."""
    run = place.start_writing("--lasts", "5m", "--undo", "slow")
    place.wait_for("b")
    run.send_signal(signal.SIGINT)
    wait_until(lambda: '"event":"undo"' in (place.runs / place.run_ids()[0] / "journal.jsonl").read_text())
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGTERM)
    code, said = ended(run)
    assert (code, place.files(), place.undo_log()) == (1, [], ["b", "a"])
    assert "what is under way is not stopped by it" in said


def test_a_signal_before_any_write_is_a_refusal(place: Place) -> None:
    """Exit 2: nothing had been written, so nothing is undone."""
    run = place.start_writing("--first", "until")
    wait_until(lambda: bool(place.run_ids()) and '"step":"look"' in read_journal(place))
    run.send_signal(signal.SIGINT)
    code, _ = ended(run)
    assert (code, place.files(), place.undo_log()) == (2, [], [])


def test_abort_stops_a_run_elsewhere_and_waits_for_its_undo(place: Place) -> None:
    """Done once the other has undone."""
    run = place.start_writing("--lasts", "5m")
    place.wait_for("b")
    code, said = ended(place.start("abort", place.run_ids()[0]))
    assert (code, place.files()) == (0, []), said
    assert ended(run)[0] == 1


def test_a_reader_that_goes_away_does_not_end_the_undo(place: Place) -> None:
    """``runbook run … | head``: the pipe breaks, the run is undone all the same."""
    run = place.start_writing("--lasts", "5m")
    place.wait_for("b")
    assert run.stdout is not None
    run.stdout.close()
    run.send_signal(signal.SIGTERM)
    assert (run.wait(SOON_S), place.files()) == (1, [])


def test_a_terminal_that_is_closed_undoes(place: Place) -> None:
    """SIGHUP comes and every write to the terminal fails."""
    ours, theirs = pty.openpty()
    settings = {"stdout": theirs, "stderr": theirs, "stdin": theirs, "start_new_session": True}
    run = place.start_writing("--lasts", "5m", **settings)
    os.close(theirs)
    place.wait_for("b")
    os.close(ours)
    run.send_signal(signal.SIGHUP)
    assert (run.wait(SOON_S), place.files()) == (1, [])


def test_ctrl_c_on_a_terminal_undoes(place: Place) -> None:
    """With colours and a spinner, and typed rather than sent."""
    ours, theirs = pty.openpty()
    run = place.start_writing(
        "--lasts",
        "5m",
        stdout=theirs,
        stderr=theirs,
        stdin=theirs,
        preexec_fn=lambda: _own_terminal(theirs),
    )
    os.close(theirs)
    place.wait_for("b")
    os.write(ours, b"\x03")
    end, seen = time.monotonic() + SOON_S, b""
    while run.poll() is None and time.monotonic() < end:
        with suppress(OSError):  # the other end is gone with the process
            seen += os.read(ours, 65536)
    assert (run.wait(SOON_S), place.files()) == (1, [])
    assert b"stopped by SIGINT" in seen
    os.close(ours)


def _own_terminal(terminal: int) -> None:
    """Make the child the leader of a session on this terminal, so that it gets what is typed."""
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def test_stop_over_several_runs_begins_no_further_one(place: Place) -> None:
    """After a signal in the first, the second is refused before any write."""
    from runbooks.engine.discover import load
    from runbooks.engine.run import Consent, execute
    from runbooks.engine.stop import Stop

    book = load("sample/write_files")
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        inputs = book.Inputs.model_validate({"folder": place.folder})
        results = [
            execute(book, inputs, stack="lab", site=place.site, consent=Consent(yes=True), stop=stop) for _ in range(2)
        ]
        assert stop.reason == "SIGTERM"
    assert [result.exit for result in results] == [Exit.REFUSED] * 2
    assert place.files() == []


def read_journal(place: Place) -> str:
    return (place.runs / place.run_ids()[0] / "journal.jsonl").read_text()
