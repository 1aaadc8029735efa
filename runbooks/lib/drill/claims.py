"""What a drill claims: numbers that clients must see, capacity that must be left, the alert and the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runbooks.lib.traffic import Figures

FAILURES = ("lost", "cut", "wrong")
"""Verdicts of the traffic driver that no client may see unless a drill says so."""

FAILING = {
    "ModelErrorsHigh": "some requests may fail, and how many is judged by itself",
    "GatewayErrorsHigh": "some requests may fail before an engine answers, and how many is judged by itself",
    "ErrorBudgetBurnFast": "requests that may fail are spent from the budget",
}
"""Pages that tell of failed requests, for drills that let some fail."""

SLOW = {
    "ModelLatencyHigh": "answers that were held up come late",
    "ErrorBudgetBurnFast": "late answers are spent from the budget",
}
"""Pages that tell of late answers, for drills that let answers wait."""

STARTS = {"MetricsAbsent": "a replica that starts reports nothing yet"}
"""For drills after which an engine starts anew."""


@dataclass(frozen=True)
class Holds:
    """What clients may see in one phase of a drill; None leaves a number free, and says so in the report."""

    lost: int | None = 0
    """Requests that were never answered (count)."""
    cut: int | None = 0
    """Answers that began and did not end (count)."""
    wrong: int | None = 0
    """Answers that ended and are inconsistent (count)."""
    rejected: int | None = 0
    """Requests told to come back later, in OpenAI's form (count)."""
    first_token_s: float | None = None
    """Largest P99 of the time to the first token (s)."""
    answered: int = 1
    """Smallest number of right answers: no answers prove nothing (count)."""

    def beyond(self, figures: Figures, verdicts: Sequence[str], *, patience: int = 0) -> Iterator[str]:
        """Which of these counts are above what is allowed, by more than ``patience`` requests."""
        counts: dict[str, int] = dict(figures.counts.items())
        for verdict in verdicts:
            allowed, seen = getattr(self, verdict), counts.get(verdict, 0)
            if allowed is not None and seen > allowed + patience:
                yield f"{seen} requests {verdict}, {allowed} allowed"

    def broken(self, figures: Figures) -> Iterator[str]:
        """What the figures break, one sentence each."""
        yield from self.beyond(figures, (*FAILURES, "rejected"))
        counts: dict[str, int] = dict(figures.counts.items())
        right = counts.get("ok", 0) + counts.get("late", 0)
        if right < self.answered:
            yield f"{right} requests answered, at least {self.answered} wanted"
        if self.first_token_s is not None and figures.ttft and figures.ttft.p99 > self.first_token_s:
            yield f"P99 of the first token is {figures.ttft.p99:.2f} s, {self.first_token_s:g} s allowed"


@dataclass(frozen=True)
class Expects:
    """The alert that must fire and the runbook that must answer it."""

    alert: str
    within: timedelta
    """From the fault until it fires."""
    runbook: str
    """Command, such as ``serving/recover_engine``."""
    finds: str
    """Regular expression that its diagnosis must contain: it must name the fault, not only end well.

    ``{target}`` stands for the name of what the drill broke.
    """
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels that the alert must carry."""
    also: tuple[str, ...] = ()
    """Further alerts that must fire within the same time, while the fault is still in."""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """Inputs of the runbook; those it has in common with the alert's labels come from there."""

    @property
    def alerts(self) -> tuple[str, ...]:
        """All alerts that must fire, first the one that is answered."""
        return (self.alert, *self.also)

    def pattern(self, target: str) -> str:
        """The regular expression for a fault of the target."""
        return self.finds.replace("{target}", re.escape(target))


@dataclass(frozen=True)
class Left:
    """Capacity of one kind while the fault is in: what there is, what it takes, what must stay."""

    what: str
    """Such as ``ready replicas of model 'tiny'``."""
    live: int
    takes: int
    floor: int

    def refusal(self) -> str | None:
        """Why the fault may not be made; None when it may."""
        if self.live - self.takes >= self.floor:
            return None
        return (
            f"blast radius: {self.what}: {self.live} now, the drill takes {self.takes}, "
            f"{self.floor} must be left; add capacity first, or choose fewer targets"
        )
