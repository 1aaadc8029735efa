"""What a journal says: folded from its lines, the same in the process that writes them and in one that reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from runbooks.engine.model import Verdict


class Event(StrEnum):
    """Kinds of lines in a journal, in the order of a run."""

    RUN = "run"
    PLAN = "plan"
    """Targets, by name, and the scope that is locked."""
    AGAIN = "again"
    """Another process takes over, to resume or to undo."""
    STEP = "step"
    """A step begins; what it writes comes after this line."""
    RECORD = "record"
    """What a step is about to write, for its undo."""
    OUTCOME = "outcome"
    UNDO = "undo"
    """The undo of a step begins."""
    UNDONE = "undone"
    RECHECK = "recheck"
    END = "end"


@dataclass(slots=True)
class Past:
    """All that has happened in a run so far."""

    header: Mapping[str, Any] = field(default_factory=dict)
    """What was asked for, by whom, with which code."""
    holder: Mapping[str, Any] = field(default_factory=dict)
    """Who was at it last: actor, host, pid."""
    plan: Mapping[str, Any] = field(default_factory=dict)
    started: list[str] = field(default_factory=list)
    """Steps in the order in which they began first."""
    wrote: list[str] = field(default_factory=list)
    """Those of them that may have written."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    """Of steps that ended."""
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    undo_began: bool = False
    undone: list[str] = field(default_factory=list)
    """Steps taken back, successfully."""
    exit: int | None = None
    """Of the last process that came to the run's end; None while none has."""
    said: str = ""
    began_at: str = ""
    last_at: str = ""

    def add(self, entry: Mapping[str, Any]) -> None:
        """Take one line into account; kinds from a later version are passed over."""
        self.last_at = entry["at"]
        match entry["event"]:
            case Event.RUN:
                self.header, self.holder, self.began_at = entry, entry, entry["at"]
            case Event.PLAN:
                self.plan = entry
            case Event.AGAIN:
                self.holder, self.exit = entry, None
            case Event.END:
                self.exit, self.said = entry["exit"], entry["said"]
            case _:
                self._add_of_step(entry, entry.get("step", ""))

    def _add_of_step(self, entry: Mapping[str, Any], step: str) -> None:
        match entry["event"]:
            case Event.STEP:
                self._begin(step, writes=entry["writes"])
            case Event.RECORD:
                self.facts.setdefault(step, {}).update(entry["facts"])
            case Event.OUTCOME:
                self.verdicts[step] = Verdict(entry["verdict"])
                self.facts.setdefault(step, {}).update(entry["facts"])
            case Event.UNDO:
                self.undo_began = True
            case Event.UNDONE if entry["verdict"] == Verdict.OK:
                self.undone.append(step)

    def _begin(self, step: str, *, writes: bool) -> None:
        if step not in self.started:
            self.started.append(step)
        if writes and step not in self.wrote:
            self.wrote.append(step)

    @property
    def left(self) -> list[str]:
        """Steps that may have written and are not taken back, last first."""
        return [step for step in reversed(self.wrote) if step not in self.undone]
