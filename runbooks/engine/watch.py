"""Run a step in a thread of its own, so that whatever it hangs in cannot hang the run.

Signals alone cannot do that: an exception out of a handler reaches only the main thread, and only between two
bytecodes, so a library that blocks in C, catches everything or waits in a thread of its own would go on. The main
thread therefore never works; it waits for the step, a signal, the deadline or the step's timeout, whichever is first.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty
from typing import Any, Generic, TypeVar

from infra.units import duration
from runbooks.engine.stop import DeadlinePassed, Halted, Interrupted, Stop, TimedOut

T = TypeVar("T")

THREAD = "step"
"""What names of threads that work for the engine begin with."""

GRACE_S = 2.0
"""Seconds that a step gets to come back by itself when it is told to stop, and again once it is thrown out."""


class Work(Generic[T]):
    """One call under way in its own thread."""

    def __init__(self, name: str, call: Callable[[], T], stop: Stop) -> None:
        self.name = name
        self._call, self._stop = call, stop
        self._value: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"{THREAD} {name}", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        # Twice, as a throw may come when the call is just over.
        with suppress(Halted):
            try:
                self._value = self._call()
            except BaseException as error:
                self._error = error
        self._stop.inbox.put(self)

    def result(self) -> T:
        """Give what the call returned, or raise what it raised."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set unless an error is

    def has_ended(self, within_s: float = 0) -> bool:
        """Whether the thread is gone, waiting for it that long."""
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def throw(self, kind: type[BaseException]) -> None:
        """Raise in the thread at its next bytecode; nothing happens while it blocks in C."""
        ident = self._thread.ident
        if ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(kind))


@dataclass(frozen=True)
class Limits:
    """What ends a piece of work from outside."""

    timeout_s: float
    heeds_stop: bool = True
    """False for undo: signals and the run's deadline are held back."""


class Watch:
    """The main thread's view: one piece of work at a time, and what may end it."""

    def __init__(self, stop: Stop, deadline_s: float, warn: Callable[[str], None]) -> None:
        self.stop = stop
        self.abandoned: list[Work[Any]] = []
        """Work that did not come back when told to; its context is closed."""
        self._warn = warn
        self._deadline_s = deadline_s
        self._end = time.monotonic() + deadline_s

    def run(self, name: str, call: Callable[[], T], limits: Limits, halt: Callable[[Halted], None]) -> T:
        """Run one call to its end.

        Args:
            halt: closes the call's context, which wakes its sleeps.
        Raises:
            Interrupted, DeadlinePassed, TimedOut: it was stopped from outside; else whatever the call raises.
        """
        if limits.heeds_stop and (reason := self.stopped()):
            raise Interrupted(reason)
        work = Work(name, call, self.stop)
        why = self._wait(work, limits)
        if why is None:
            return work.result()
        halt(why)
        if not work.has_ended(GRACE_S):
            work.throw(type(why))
            if not work.has_ended(GRACE_S):
                self.abandoned.append(work)
        raise why

    def _wait(self, work: Work[T], limits: Limits) -> Halted | None:
        """Wait until the work is done (None) or something ends it."""
        timeout = time.monotonic() + limits.timeout_s
        end = min(timeout, self._end) if limits.heeds_stop else timeout
        while (left := end - time.monotonic()) > 0:
            try:
                # A wait of days overflows the C type behind it.
                item = self.stop.inbox.get(timeout=min(left, 3600))
            except Empty:
                continue
            if item is work:
                return None
            if isinstance(item, str) and self._heard(item, limits):
                return Interrupted(self.stop.reason)
        if work.has_ended():
            return None
        if end < timeout:
            return DeadlinePassed(f"deadline of {duration(self._deadline_s)}")
        return TimedOut(f"no end after {duration(limits.timeout_s)}")

    def stopped(self) -> str:
        """Say why to begin nothing more; takes in what was heard while no work was under way."""
        while not self.stop.inbox.empty():
            item = self.stop.inbox.get()
            if isinstance(item, str):
                self.stop.reason = self.stop.reason or item
        late = time.monotonic() > self._end
        return self.stop.reason or (f"deadline of {duration(self._deadline_s)}" if late else "")

    def _heard(self, reason: str, limits: Limits) -> bool:
        self.stop.reason = self.stop.reason or reason
        if not limits.heeds_stop:
            self._warn(f"{reason} heard; what is under way is not stopped by it")
        return limits.heeds_stop
