"""Run steps that are skipped when already true, side by side where they do not depend on each other."""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from infra.errors import CheckError, RailwrightError

Report = Callable[[str], None]
"""How a step says what it is doing: one short line, replaced by the next, and gone when the step is done."""

Phase = Literal["waiting", "running", "done", "skipped", "failed"]
"""Life of a step; it only ever moves to the right."""

TICK_SECONDS = 0.2
"""How often the view is refreshed while nothing happens (s); the eye sees no slower clock."""


def never() -> bool:
    """Say that a step must run each time."""
    return False


@dataclass(frozen=True)
class Step:
    """One thing to make true.

    Args:
        name: what becomes true, as the user reads it.
        do: makes it true, and says what came of it; safe to be cut off anywhere and to be run again.
        is_done: tells, without changing anything, that it is true already.
        after: names of the steps that must be done before.
    """

    name: str
    do: Callable[[Report], str | None]
    is_done: Callable[[], bool] = never
    after: tuple[str, ...] = ()


@dataclass
class State:
    """What is known about one step while the run goes on; times are those of the run's clock (s)."""

    step: Step
    log: Path
    phase: Phase = "waiting"
    detail: str = ""
    started: float = 0.0
    ended: float = 0.0
    error: BaseException | None = field(default=None, repr=False)

    def seconds(self, now: float) -> float:
        """How long the step has run, or ran (s)."""
        return 0.0 if self.phase == "waiting" else (self.ended or now) - self.started


class View(Protocol):
    """Shows the states of all steps to somebody."""

    def show(self, states: Sequence[State], now: float) -> None:
        """Show the states as they are at ``now`` (s, the run's clock)."""


class StepError(CheckError):
    """A step did not become true; what it needs and what was done before stays as it is."""

    def __init__(self, state: State) -> None:
        cause = state.error
        reason = str(cause) if isinstance(cause, RailwrightError) else f"unexpected {type(cause).__name__}: {cause}"
        super().__init__(f"step {state.step.name!r}: {reason}\n  log: {state.log}")
        self.state = state


def _check(steps: Sequence[Step]) -> None:
    """Each step depends on earlier steps only, so that the order written is an order that works."""
    seen: set[str] = set()
    for step in steps:
        if step.name in seen or not set(step.after) <= seen:
            raise ValueError(f"step {step.name!r} has the name of another or comes before one of {step.after}")
        seen.add(step.name)


class Run:
    """One run over a list of steps."""

    def __init__(
        self,
        steps: Sequence[Step],
        logs: Path,
        view: View,
        workers: int = 3,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare, without starting anything.

        Args:
            steps: in an order in which each comes after those it depends on.
            logs: folder of one log per step.
            view: told about each change, and now and then in between.
            workers: how many steps may run side by side (count).
            clock: seconds from any start.
        """
        _check(steps)
        logs.mkdir(parents=True, exist_ok=True)
        names = [step.name.replace(" ", "-") for step in steps]
        self.states = [State(step, logs / f"{name}.log") for step, name in zip(steps, names, strict=True)]
        self._view, self._workers, self._clock = view, workers, clock
        self._ended: queue.Queue[tuple[State, Phase, BaseException | None]] = queue.Queue()

    def run(self) -> None:
        """Make every step true.

        After a failure nothing new starts, and what runs may finish, so that its work is not lost.

        Raises:
            StepError: the first step that failed, from its cause.
        """
        while True:
            self._start_what_can()
            self._view.show(self.states, self._clock())
            if not any(state.phase == "running" for state in self.states):
                break
            self._wait()
        for state in self.states:
            if state.phase == "failed":
                raise StepError(state) from state.error

    def _start_what_can(self) -> None:
        phases = {state.step.name: state.phase for state in self.states}
        free = self._workers - sum(phase == "running" for phase in phases.values())
        if "failed" in phases.values():
            return
        ready = [
            state
            for state in self.states
            if state.phase == "waiting" and all(phases[name] in ("done", "skipped") for name in state.step.after)
        ]
        for state in ready[:free]:
            state.phase, state.started = "running", self._clock()
            # A daemon thread, because Ctrl-C must end the program without waiting for a build of minutes.
            threading.Thread(target=self._work, args=(state,), daemon=True, name=state.step.name).start()

    def _wait(self) -> None:
        """Take in what ended; phases change in this thread only, so that no two looks at them differ."""
        try:
            state, phase, error = self._ended.get(timeout=TICK_SECONDS)
        except queue.Empty:
            return
        state.phase, state.error, state.ended = phase, error, self._clock()

    def _work(self, state: State) -> None:
        try:
            self._ended.put((state, self._one(state), None))
        except BaseException as error:  # a thread's top frame; run() raises it again
            with state.log.open("a") as log:
                traceback.print_exception(error, file=log)
            self._ended.put((state, "failed", error))

    def _one(self, state: State) -> Phase:
        if state.step.is_done():
            return "skipped"
        with state.log.open("w", buffering=1) as log:

            def report(line: str) -> None:
                # A step that waits says the same many times.
                if line != state.detail:
                    state.detail = line
                    log.write(f"{self._clock() - state.started:8.1f} s  {line}\n")

            report(state.step.do(report) or "")
        return "done"
