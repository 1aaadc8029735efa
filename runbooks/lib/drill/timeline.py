"""What happened when, for the report of a drill."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["steady", "fault", "alert", "page", "runbook", "healed", "recovered"]
"""Stations of a drill, in the order in which they should come; a page is one that nobody waited for."""


@dataclass(frozen=True)
class Event:
    """One station."""

    at: float
    """Wall clock (s since the epoch)."""
    kind: Kind
    said: str


@dataclass
class Timeline:
    """All stations of one drill so far."""

    events: list[Event] = field(default_factory=list)

    def add(self, kind: Kind, said: str, *, at: float | None = None) -> None:
        """Note one, now or as of a time before (s since the epoch)."""
        self.events.append(Event(time.time() if at is None else at, kind, said))
        self.events.sort(key=lambda event: event.at)

    def at(self, kind: Kind) -> float | None:
        """When a station was reached first (s since the epoch); None if it was not."""
        return next((event.at for event in self.events if event.kind == kind), None)
