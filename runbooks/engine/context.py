"""What a step sees of its run: inputs, targets, clients, earlier facts, and how to wait, record and report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from infra.errors import CheckError
from infra.units import duration
from runbooks.engine.journal import Journal
from runbooks.engine.model import Inputs, Step, Target
from runbooks.engine.plain import plain
from runbooks.engine.screen import Screen
from runbooks.engine.state import Event
from runbooks.engine.stop import Halted, Interrupted

T = TypeVar("T")
Connect = Callable[["Context"], Any]
"""Makes the clients of a context."""


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for, by whom and why."""

    run_id: str
    stack: str
    inputs: Inputs
    dry: bool
    actor: str
    reason: str
    ticket: str
    folder: Path


class Context:
    """One phase of a run (its steps, its undo, its re-check) as the runbook sees it; no use once it is closed."""

    def __init__(self, order: Order, journal: Journal | None, screen: Screen, connect: Connect) -> None:
        self.stack, self.run_id, self.inputs = order.stack, order.run_id, order.inputs
        self.dry, self.folder = order.dry, order.folder
        self.actor, self.reason, self.ticket = order.actor, order.reason, order.ticket
        self.targets: tuple[Target, ...] = ()
        self.step = ""
        """Name of the step under way; empty while targets are resolved."""
        self.undoing = False
        """Whether this is a step's undo."""
        self.said: list[str] = []
        self.wished: list[str] = []
        """What a dry client would have written in this step."""
        self._writes = False
        self._journal, self._screen, self._connect = journal, screen, connect
        self._clients: Any = None
        self._connecting = threading.Lock()
        self._why: Halted | None = None
        self._wake = threading.Event()

    @property
    def clients(self) -> Any:
        """The clients of this phase, made when first asked for."""
        with self._connecting:
            if self._clients is None:
                self._clients = self._connect(self)
            return self._clients

    @property
    def facts(self) -> Mapping[str, Mapping[str, Any]]:
        """What each step has recorded or found so far, by its name; an earlier process of this run included."""
        return self._journal.past.facts if self._journal else {}

    @property
    def may_write(self) -> bool:
        """Whether a client may write now; one that may not says what it would do."""
        return self._writes and not self.dry and self._why is None

    @property
    def is_halted(self) -> bool:
        """Whether the run is told to stop; for what waits by itself, such as a play."""
        return self._why is not None

    def record(self, **facts: Any) -> None:
        """Put into the journal, on disk, what is about to be written; call it before the write.

        Raises:
            TypeError: a fact is not plain data.
        """
        if self._why is not None:
            raise self._why
        if self._journal is None:
            raise RuntimeError("record() outside a step; targets and refusals leave nothing behind")
        self._journal.append(Event.RECORD, step=self.step, facts=plain(facts))

    def say(self, text: str) -> None:
        """Tell how it goes."""
        self.said.append(text)
        self._screen.line("say", text)

    def would(self, text: str) -> None:
        """Tell what would be written if this run acted; ``text`` begins with the verb."""
        self.wished.append(text)
        self._screen.line("would", text)

    def check(self) -> None:
        """Go on, or leave the step when the run is told to stop.

        Raises:
            Halted: a signal, the deadline of the run or the timeout of the step.
        """
        if self._why is not None:
            raise self._why

    def sleep(self, seconds: float) -> None:
        """Wait; ends at once when the run is told to stop, as ``check`` does."""
        self._wake.wait(seconds)
        self.check()

    def until(self, ask: Callable[[], T | None], *, timeout: timedelta, what: str, every: float = 1.0) -> T | None:
        """Ask until the answer is something other than None or False; None only when dry, as that asks once.

        Args:
            what: the state waited for, for the message, such as ``pod models/a is ready``.
            every: seconds between two questions.
        Raises:
            CheckError: it is not so within ``timeout``.
        """
        end = time.monotonic() + timeout.total_seconds()
        while True:
            self.check()
            answer = ask()
            if answer is not None and answer is not False:
                return answer
            if self.dry:
                return None
            left = end - time.monotonic()
            if left <= 0:
                raise CheckError(f"{what} — not so after {duration(timeout.total_seconds())}")
            self.sleep(min(every, left))

    def retry(
        self,
        ask: Callable[[], T],
        *,
        on: type[Exception] | tuple[type[Exception], ...],
        timeout: timedelta,
        every: float = 1.0,
    ) -> T:
        """Try until it works; only the named exceptions are worth another try, and a dry run tries once."""
        end = time.monotonic() + timeout.total_seconds()
        while True:
            self.check()
            try:
                return ask()
            except on:
                left = end - time.monotonic()
                if self.dry or left <= 0:
                    raise
            self.sleep(min(every, left))

    def enter(self, step: Step, *, may_write: bool) -> None:
        """Begin a step; for the engine."""
        self.step, self._writes = step.name, may_write
        self.said, self.wished = [], []

    def leave(self) -> None:
        """End a step; for the engine."""
        self._writes = False

    def halt(self, why: Halted) -> None:
        """Close the context for good: nothing is written through it any more, and its sleeps end; for the engine."""
        self._why = why
        self._wake.set()

    def close(self) -> None:
        """End the phase: a thread that a step left behind writes no more; for the engine."""
        if self._why is None:
            self.halt(Interrupted("this part of the run is over"))
