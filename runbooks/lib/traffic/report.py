"""What a run found: verdicts, figures per tenant and model, each failure, and each second."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runbooks.lib.traffic.driver import Beat, Driver
from runbooks.lib.traffic.figures import DEFINITIONS, Figures, Spread, figures_of, spread
from runbooks.lib.traffic.profile import Profile
from runbooks.lib.traffic.verdict import COMPLETE, FAILED, Sample, Verdict

if TYPE_CHECKING:
    from runbooks.lib.traffic.engine_side import EngineSide

FORMAT = "railwright-traffic/1"
"""Names the shape of our JSON; another shape gets another number."""


@dataclass(frozen=True, slots=True)
class Group:
    """One tenant's requests to one model."""

    tenant: str
    tier: str
    model: str
    figures: Figures


@dataclass(frozen=True, slots=True)
class Second:
    """One second of a run, from its start."""

    second: int
    sent: int
    open: int
    tokens: int
    ended: dict[Verdict, int]
    ttft_p95: float | None
    """Of complete answers that ended in it (s)."""


@dataclass(frozen=True)
class Report:
    """One run; ``sent`` is the sum of all ``counts``, plus ``open`` while it still runs."""

    profile: Profile
    begun: float
    """Wall clock of the start (s since 1970)."""
    seconds: float
    """From the start to the last verdict (s)."""
    open: int
    samples: tuple[Sample, ...]
    beats: tuple[Beat, ...]
    engine: tuple[EngineSide, ...] = ()
    """What the engines themselves say of the same time, if they were asked."""

    @property
    def sent(self) -> int:
        """Requests sent."""
        return self.open + len(self.samples)

    @cached_property
    def figures(self) -> Figures:
        """Figures of the whole run."""
        return figures_of(self.samples, self.seconds)

    @property
    def counts(self) -> dict[Verdict, int]:
        """Requests by verdict."""
        return self.figures.counts

    @property
    def failed(self) -> int:
        """Requests that were lost, cut or wrong."""
        return self.figures.failed

    @cached_property
    def failures(self) -> tuple[Sample, ...]:
        """Requests that were lost, cut or wrong, in the order in which that was known."""
        return tuple(sample for sample in self.samples if sample.verdict in FAILED)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Figures by tenant and model."""
        keys = sorted({(sample.tenant, sample.tier, sample.model) for sample in self.samples})
        return tuple(Group(*key, figures_of(self._of(*key), self.seconds)) for key in keys)

    def window(self, start: float = 0.0, end: float | None = None) -> Figures:
        """Figures of the requests that ended between two moments (s since 1970)."""
        until = self.begun + self.seconds if end is None else end
        inside = [sample for sample in self.samples if start <= sample.ended <= until]
        return figures_of(inside, until - max(start, self.begun))

    def of_model(self, model: str) -> Figures:
        """Figures of all requests to one model."""
        return figures_of((sample for sample in self.samples if sample.model == model), self.seconds)

    @cached_property
    def lateness(self) -> Spread | None:
        """How far behind its own schedule the driver was (s)."""
        return spread([sample.lateness for sample in self.samples])

    @property
    def cpu_cores(self) -> float:
        """CPU that the driver's thread used, over the time it ran (cores)."""
        return sum(beat.cpu for beat in self.beats) / self.seconds if self.seconds else 0.0

    @property
    def peak_open(self) -> int:
        """Most requests that were open at the end of a second."""
        return max((beat.open for beat in self.beats), default=0)

    @property
    def exit_code(self) -> int:
        """0 nothing failed; 1 a request was lost, cut or wrong; 4 nothing was answered, so that nothing can be told."""
        if self.counts[Verdict.CUT] or self.counts[Verdict.WRONG]:
            return 1
        if not self.figures.complete:
            return 4
        return 1 if self.counts[Verdict.LOST] else 0

    @cached_property
    def series(self) -> tuple[Second, ...]:
        """The run second by second."""
        return tuple(self._series())

    def as_dict(self) -> dict[str, Any]:
        """Plain data, without keys."""
        return {
            "format": FORMAT,
            "profile": self.profile.public(),
            "begun": stamp(self.begun),
            "seconds": self.seconds,
            "sent": self.sent,
            "open": self.open,
            "counts": self.counts,
            "exit_code": self.exit_code,
            "figures": self.figures.as_dict(),
            "groups": [asdict(group) | {"figures": group.figures.as_dict()} for group in self.groups],
            "failures": [failure(sample) for sample in self.failures],
            "driver": {
                "cpu_cores": self.cpu_cores,
                "peak_open": self.peak_open,
                "lateness": asdict(self.lateness) if self.lateness else None,
                "numbered_answers": sum(sample.is_numbered for sample in self.samples if sample.verdict in COMPLETE),
            },
            "engine": [asdict(side) for side in self.engine],
            "series": [asdict(second) for second in self.series],
            "definitions": dict(DEFINITIONS),
        }

    def write_json(self, path: Path) -> None:
        """Write all of it as JSON."""
        path.write_text(json.dumps(self.as_dict(), indent=1), encoding="utf-8")

    def write_html(self, path: Path) -> None:
        """Write a page that needs no other file."""
        from runbooks.lib.traffic.page import page

        path.write_text(page(self), encoding="utf-8")

    def _of(self, tenant: str, tier: str, model: str) -> Iterator[Sample]:
        wanted = (tenant, tier, model)
        return (sample for sample in self.samples if (sample.tenant, sample.tier, sample.model) == wanted)

    def _series(self) -> Iterator[Second]:
        ended: dict[int, list[Sample]] = {}
        sent: dict[int, int] = {}
        for sample in self.samples:
            ended.setdefault(int(sample.ended - self.begun), []).append(sample)
            sent[int(sample.sent - self.begun)] = sent.get(int(sample.sent - self.begun), 0) + 1
        for beat in self.beats:
            figures = figures_of(ended.get(beat.second, ()), 1.0)
            happened = {verdict: count for verdict, count in figures.counts.items() if count}
            p95 = figures.ttft.p95 if figures.ttft else None
            yield Second(beat.second, sent.get(beat.second, 0), beat.open, beat.tokens, happened, p95)


def report_of(driver: Driver) -> Report:
    """Take what a driver knows at this moment."""
    samples = tuple(driver.samples)
    last = max((sample.ended for sample in samples), default=driver.begun)
    seconds = max(last - driver.begun, float(len(driver.beats) - 1 if driver.beats else 0))
    return Report(driver.profile, driver.begun, seconds, driver.open, samples, tuple(driver.beats))


def failure(sample: Sample) -> dict[str, Any]:
    """One failed request as plain data."""
    return {
        "due": stamp(sample.due),
        "ended": stamp(sample.ended),
        "verdict": sample.verdict,
        "reason": sample.reason,
        "tenant": sample.tenant,
        "model": sample.model,
        "status": sample.status,
        "tokens": sample.tokens,
        "request_id": sample.request_id,
    }


def stamp(at: float) -> str:
    """A moment (s since 1970) as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
