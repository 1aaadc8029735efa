"""How a run is told to stop: signals, a lost lock, a deadline, a step that takes too long."""

from __future__ import annotations

import signal
import threading
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import Any, Self

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that stop a run; what it did is then undone."""


class Halted(BaseException):
    """Leave the step now; no ``Exception``, so that no step takes it for an answer."""


class Interrupted(Halted):
    """Somebody, or the loss of the lock, stops the run."""


class DeadlinePassed(Halted):
    """The run as a whole takes too long."""


class TimedOut(Halted):
    """The step takes too long."""


class Stop:
    """Hear signals from ``with`` to its end, over one run or several; ``reason`` says what was heard.

    The handler only puts into a queue: that is safe wherever the signal comes, which setting an Event is not.
    """

    def __init__(self) -> None:
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        """Everything that the main thread waits for: reasons to stop, and work that has come back."""
        self.reason = ""
        """Why to stop; empty while there is no reason. Begin no further run once it is set."""
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._hear) for number in HEARD}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def ask(self, reason: str) -> None:
        """Ask the run to stop; from any thread."""
        self.inbox.put(reason)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.inbox.put(signal.Signals(number).name)
