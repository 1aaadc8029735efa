"""The open loop: send each request when it is due, whatever became of those before it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from infra.errors import ConfigError
from runbooks.lib.traffic.arrivals import due_times, seeded
from runbooks.lib.traffic.ask import Ask
from runbooks.lib.traffic.connection import session
from runbooks.lib.traffic.files import allow_open
from runbooks.lib.traffic.profile import Profile
from runbooks.lib.traffic.requests import Request, Requests
from runbooks.lib.traffic.verdict import FAILED, Sample, Verdict


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a run stands at one moment; ``sent`` is ``open`` and all ``counts`` together."""

    at: float
    """Wall clock (s since 1970)."""
    elapsed: float
    """Since the start (s)."""
    sent: int
    open: int
    counts: dict[Verdict, int]
    tokens: int
    """Output tokens so far."""
    tokens_per_second: float
    """Over the last whole second."""
    worst_lateness: float
    """Most that this driver was behind its own schedule (s)."""
    is_over: bool
    """Whether the profile is through and nothing is open."""

    @property
    def failed(self) -> int:
        """Requests that were lost, cut or wrong."""
        return sum(self.counts[verdict] for verdict in FAILED)


@dataclass(frozen=True, slots=True)
class Beat:
    """One second of the driver itself."""

    second: int
    open: int
    """Requests open at its end."""
    tokens: int
    """Output tokens that came in it."""
    cpu: float
    """CPU time that this thread used in it (s)."""


class Driver:
    """One run of a profile within a running event loop."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.samples: list[Sample] = []
        """Requests whose fate is known, in the order in which it became so."""
        self.beats: list[Beat] = []
        self.begun = 0.0
        """Wall clock of the start (s since 1970)."""
        self._requests = Requests(profile)
        self._due = due_times(profile.segments, profile.arrivals, seeded(profile.seed, "arrivals"))
        self._next = next(self._due, None)
        lengths = [segment.seconds for segment in profile.segments]
        self._seconds = None if lengths[-1] is None else sum(length or 0.0 for length in lengths)
        self._open: dict[asyncio.Task[None], Sample] = {}
        self._counts: Counter[Verdict] = Counter()
        self._tokens: Counter[int] = Counter()
        self._worst_lateness = 0.0
        self._through = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._pulse: asyncio.TimerHandle | None = None
        self._cpu = 0.0

    async def __aenter__(self) -> Self:
        """Send the first request as soon as it is due.

        Raises:
            ConfigError: this process may not open so many connections, or the profile's certificates cannot be read.
        """
        if problem := allow_open(self.profile.peak_open):
            raise ConfigError(problem)
        self._loop = asyncio.get_running_loop()
        self._session = session(self.profile)
        # The wall clock is read once: a clock that is set during a drill must not bend the figures.
        self.begun, self._start, self._cpu = time.time(), self._loop.time(), time.thread_time()
        self._pulse = self._loop.call_at(self._start + 1, self._beat)
        self._arrive()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the run; at once if it is left by an error, else when all that is open has ended."""
        self.end(drain=None if kind is None else 0.0)
        await self.finish()

    def end(self, drain: float | None = None) -> None:
        """Send no more.

        Args:
            drain: after so long (s) hang up on what is still open; left out, each runs to its end or its timeout.
        """
        self._through.set()
        if self._timer is not None:
            self._timer.cancel()
        if drain is not None:
            self._loop.call_later(drain, self._hang_up)

    async def finish(self) -> None:
        """Wait until the profile is through and every request has its verdict."""
        await self._through.wait()
        while self._open:
            await asyncio.wait(set(self._open))
        if self._pulse is not None:
            self._pulse.cancel()
            self._pulse = None
            self._beat(is_last=True)
            await self._session.close()

    def _hang_up(self) -> None:
        for task in tuple(self._open):
            task.cancel()

    @property
    def open(self) -> int:
        """Requests that are on their way (count)."""
        return len(self._open)

    def snapshot(self) -> Snapshot:
        """How it stands."""
        elapsed = self._loop.time() - self._start
        return Snapshot(
            at=self.begun + elapsed,
            elapsed=elapsed,
            sent=self.open + self._counts.total(),
            open=self.open,
            counts={verdict: self._counts[verdict] for verdict in Verdict},
            tokens=self._tokens.total(),
            tokens_per_second=float(self._tokens[int(elapsed) - 1]),
            worst_lateness=self._worst_lateness,
            is_over=self._through.is_set() and not self._open,
        )

    def _arrive(self) -> None:
        """Send all that is due by now, and come back for the next."""
        while self._next is not None and self._start + self._next <= self._loop.time():
            self._send(self._requests.draw(), self._next)
            self._next = next(self._due, None)
        if self._next is not None:
            self._timer = self._loop.call_at(self._start + self._next, self._arrive)
        elif self._seconds is not None:
            self._timer = self._loop.call_at(self._start + self._seconds, self._through.set)

    def _send(self, request: Request, due: float) -> None:
        lateness = self._loop.time() - self._start - due
        self._worst_lateness = max(self._worst_lateness, lateness)
        tenant, at = request.tenant, self.begun + due
        sample = Sample(at, at + lateness, tenant.name, request.wish.model, tenant.tier, request.is_stream)
        ask = Ask(self.profile, request, sample, self._start + due, self._came)
        task = self._loop.create_task(ask.run(self._session))
        self._open[task] = sample
        task.add_done_callback(lambda done: self._ended(done, request))

    def _ended(self, task: asyncio.Task[None], request: Request) -> None:
        """Note the verdict; a fault of this driver's own is one too, so that no request vanishes."""
        sample = self._open.pop(task)
        if task.cancelled():
            sample.verdict = Verdict.ABORTED
        elif (fault := task.exception()) is not None:
            sample.verdict, sample.reason = Verdict.WRONG, f"this driver failed at it: {fault!r}"
        sample.ended = sample.ended or self.begun + self._loop.time() - self._start
        self._requests.learn(request, sample.prompt_tokens)
        self._counts[sample.verdict] += 1
        self.samples.append(sample)

    def _came(self, tokens: int) -> None:
        self._tokens[int(self._loop.time() - self._start)] += tokens

    def _beat(self, *, is_last: bool = False) -> None:
        second = int(self._loop.time() - self._start) if is_last else len(self.beats)
        used, self._cpu = time.thread_time() - self._cpu, time.thread_time()
        self.beats.append(Beat(second, self.open, self._tokens[second], used))
        if not is_last:
            self._pulse = self._loop.call_at(self._start + len(self.beats) + 1, self._beat)
