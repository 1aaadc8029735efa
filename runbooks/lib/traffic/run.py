"""Traffic beside other work: a run in a thread of its own, for drills and other code that waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from infra.errors import Unknown
from runbooks.lib.traffic.driver import Driver, Snapshot
from runbooks.lib.traffic.figures import Figures
from runbooks.lib.traffic.profile import Profile
from runbooks.lib.traffic.report import Report, report_of

T = TypeVar("T")

PATIENCE = 30.0
"""Longest wait for the driver's thread to answer a question (s); its loop answers within milliseconds."""


class TrafficRun:
    """One run; a gateway that is down, or comes and goes, is what it is there to see."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._driver = Driver(profile)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._fault: BaseException | None = None
        self._report: Report | None = None
        self._thread = threading.Thread(target=self._work, name="traffic", daemon=True)

    def start(self) -> Self:
        """Begin.

        Raises:
            ConfigError: this process may not open so many connections, or the profile's certificates cannot be read.
        """
        self._thread.start()
        self._ready.wait()
        if self._fault is not None:
            raise self._fault
        return self

    def __enter__(self) -> Self:
        """Begin."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; at once when it is left by an error."""
        self.stop(drain=None if kind is None else 0.0)

    @property
    def is_over(self) -> bool:
        """Whether the profile is through and every request has its verdict."""
        return not self._thread.is_alive()

    def snapshot(self) -> Snapshot:
        """How it stands.

        Raises:
            Unknown: the driver itself has failed.
        """
        return self._asked(self._driver.snapshot)

    def figures(self, since: float = 0.0) -> Figures:
        """Sum up the requests that ended since a moment (s since 1970); left out, all.

        Raises:
            Unknown: the driver itself has failed.
        """
        return self._asked(self._so_far).window(since)

    def report(self) -> Report:
        """All that is known so far; requests that are open are not in it.

        Raises:
            Unknown: the driver itself has failed.
        """
        return self._report or self._asked(self._so_far)

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it is over (at most so many seconds); whether it is."""
        self._thread.join(timeout)
        return self.is_over

    def stop_when_over(self) -> Report:
        """Wait until the profile is through, then sum up.

        Raises:
            Unknown: the driver itself has failed.
        """
        self._thread.join()
        return self.stop()

    def stop(self, drain: float | None = None) -> Report:
        """Send no more, wait for what is open, and sum up; may be called again.

        Args:
            drain: longest wait (s); left out, until each request has ended or run into its timeout.
        Raises:
            Unknown: the driver itself has failed.
        """
        if self._report is None:
            if self._loop is not None:
                with suppress(RuntimeError):  # the loop is closed: it is over already
                    self._loop.call_soon_threadsafe(self._driver.end, drain)
            self._thread.join()
            self._report = self._so_far()
        return self._report

    def _work(self) -> None:
        try:
            asyncio.run(self._drive())
        except BaseException as error:  # told to whoever asks next; a thread has nobody else to tell
            self._fault = error
        finally:
            self._ready.set()

    async def _drive(self) -> None:
        async with self._driver as driver:
            self._loop = asyncio.get_running_loop()
            self._ready.set()
            await driver.finish()

    def _so_far(self) -> Report:
        self._raise_fault()
        return report_of(self._driver)

    def _asked(self, question: Callable[[], T]) -> T:
        """Ask in the driver's own thread, so that the answer is of one moment."""
        self._raise_fault()
        if self._loop is None or not self._thread.is_alive():
            return question()

        async def answer() -> T:
            return question()

        asked = answer()
        try:
            return asyncio.run_coroutine_threadsafe(asked, self._loop).result(timeout=PATIENCE)
        except (RuntimeError, CancelledError):  # it came to its end meanwhile
            asked.close()
            self._thread.join()
            self._raise_fault()
            return question()
        except TimeoutError as error:
            raise Unknown(f"traffic — its driver has not answered for {PATIENCE:g} s — run it again") from error

    def _raise_fault(self) -> None:
        if self._fault is not None:
            raise Unknown(f"traffic — its driver ended by itself ({self._fault!r}) — run it again") from self._fault
