"""Steps: order, skipping, side by side, failures, and what the views write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from infra.errors import CheckError
from lab.progress import HEARTBEAT_SECONDS, PlainView
from lab.steps import Report, Run, State, Step, StepError


class Silent:
    """A view that shows nothing."""

    def show(self, states: object, now: float) -> None:
        """Show nothing."""


def note(seen: list[str], name: str) -> Callable[[Report], None]:
    """A step's work that only leaves its name."""
    return lambda report: seen.append(name)


def fail(report: Report) -> None:
    """A step's work that fails as parts of the lab do."""
    raise CheckError("etcd — is not healthy — it must be — see its log")


def test_a_step_runs_after_those_it_names(tmp_path: Path) -> None:
    """A step starts only when all it depends on is done."""
    seen: list[str] = []
    chain = [("a", ()), ("b", ("a",)), ("c", ("b",))]
    steps = [Step(name, note(seen, name), after=after) for name, after in chain]
    Run(steps, tmp_path, Silent()).run()
    assert seen == ["a", "b", "c"]


def test_a_step_that_is_true_already_is_skipped_and_counts_as_done(tmp_path: Path) -> None:
    """What is true is not done again, and what depends on it goes on."""
    seen: list[str] = []
    run = Run([Step("a", note(seen, "a"), lambda: True), Step("b", note(seen, "b"), after=("a",))], tmp_path, Silent())
    run.run()
    assert (seen, [state.phase for state in run.states]) == (["b"], ["skipped", "done"])


def test_independent_steps_run_side_by_side(tmp_path: Path) -> None:
    """Two steps that wait for each other both end, so they ran at the same time."""
    both = threading.Barrier(2, timeout=20)
    Run([Step("a", lambda _: void(both)), Step("b", lambda _: void(both))], tmp_path, Silent()).run()
    assert both.n_waiting == 0
    assert not both.broken


def void(barrier: threading.Barrier) -> None:
    """Wait at a barrier."""
    barrier.wait()


def test_one_worker_runs_one_step_at_a_time(tmp_path: Path) -> None:
    """With one worker, no two steps overlap."""
    running = threading.Semaphore(1)

    def alone(report: Report) -> None:
        assert running.acquire(blocking=False), "two steps at once"
        threading.Event().wait(0.01)
        running.release()

    Run([Step(name, alone) for name in "abcd"], tmp_path, Silent(), workers=1).run()


def test_after_a_failure_nothing_that_depends_on_it_starts(tmp_path: Path) -> None:
    """The failed step is named with its reason and its log; what would follow stays waiting."""
    seen: list[str] = []
    run = Run([Step("make etcd", fail), Step("b", note(seen, "b"), after=("make etcd",))], tmp_path, Silent())
    with pytest.raises(StepError, match=r"step 'make etcd': etcd — is not healthy[\s\S]*make-etcd\.log"):
        run.run()
    assert (seen, run.states[1].phase) == ([], "waiting")


def test_what_ran_beside_a_failure_is_finished(tmp_path: Path) -> None:
    """A long build is not thrown away because another step failed."""
    failed, seen = threading.Event(), list[str]()

    def fail_first(report: Report) -> None:
        failed.set()
        fail(report)

    def build(report: Report) -> None:
        assert failed.wait(20)
        seen.append("built")

    with pytest.raises(StepError):
        Run([Step("build", build), Step("a", fail_first)], tmp_path, Silent()).run()
    assert seen == ["built"]


def test_an_unexpected_error_leaves_its_traceback_in_the_log(tmp_path: Path) -> None:
    """A mistake of ours is shown in one line, and in full in the log."""

    def broken(report: Report) -> None:
        raise KeyError("octet")

    with pytest.raises(StepError, match="unexpected KeyError: 'octet'"):
        Run([Step("a", broken)], tmp_path, Silent()).run()
    assert "in broken" in (tmp_path / "a.log").read_text()


def test_a_done_step_does_not_show_what_it_was_last_doing(tmp_path: Path) -> None:
    """Beside it stands what came of it, or nothing; its log holds each line once."""

    def work(report: Report, result: str | None) -> str | None:
        report("downloads")
        report("downloads")
        return result

    run = Run([Step("a", lambda _: work(_, "vLLM")), Step("b", lambda _: work(_, None))], tmp_path, Silent())
    run.run()
    assert [state.detail for state in run.states] == ["vLLM", ""]
    assert (tmp_path / "a.log").read_text().count("downloads") == 1


@pytest.mark.parametrize(
    "steps",
    [
        [Step("a", fail, after=("b",)), Step("b", fail)],
        [Step("a", fail, after=("x",))],
        [Step("a", fail), Step("a", fail)],
    ],
    ids=["out of order", "unknown", "twice"],
)
def test_a_list_of_steps_that_cannot_work_is_refused(steps: list[Step], tmp_path: Path) -> None:
    """Names are unique, and each step comes after those it needs."""
    with pytest.raises(ValueError, match="step 'a'"):
        Run(steps, tmp_path, Silent())


def test_the_plain_view_writes_changes_and_a_heartbeat(tmp_path: Path) -> None:
    """One line per change, none in between, and one more when a step was silent for long."""
    lines: list[str] = []
    view, state = PlainView(lines.append), State(Step("tools", fail), tmp_path / "tools.log", "running", "builds etcd")
    for now in (0.0, 1.0, HEARTBEAT_SECONDS, HEARTBEAT_SECONDS + 1):
        view.show([state], now)
    state.phase, state.ended, state.detail = "done", HEARTBEAT_SECONDS + 2, "6 built"
    view.show([state], HEARTBEAT_SECONDS + 2)
    assert [" ".join(line.split()) for line in lines] == [
        "▸ tools 0 s builds etcd",
        "▸ tools 15 s builds etcd",
        "✓ tools 17 s 6 built",
    ]
