"""What a run came to: its exit code, each step, what was undone, what could be done next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any

from runbooks.engine.model import Target, Verdict
from runbooks.engine.plain import plain


class Exit(IntEnum):
    """Exit code of a run."""

    DONE = 0
    UNDONE = 1
    """A step failed; whatever had been started is undone."""
    REFUSED = 2
    """Stopped before any write."""
    UNDO_FAILED = 3
    """Something is left behind: a human must look."""
    UNKNOWN = 4
    """It cannot be told."""


_WORST_FIRST = (Exit.UNDO_FAILED, Exit.UNDONE, Exit.UNKNOWN, Exit.REFUSED, Exit.DONE)


def worst(exits: Iterable[Exit]) -> Exit:
    """Pick the outcome that several runs have together; that of none at all cannot be told."""
    return min(exits, key=_WORST_FIRST.index, default=Exit.UNKNOWN)


@dataclass(frozen=True, slots=True)
class StepResult:
    """How one step, one undo or one re-check went."""

    name: str
    title: str
    verdict: Verdict | None
    """None: it did not run."""
    said: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    would: tuple[str, ...] = ()
    """What it would have written; dry runs only."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that can be done about what was found, and the command that does it."""

    do: str
    steps: tuple[str, ...]
    """Titles of the steps that run for it alone."""
    command: str


@dataclass(frozen=True, slots=True)
class Result:
    """What a run came to."""

    run_id: str
    runbook: str
    stack: str
    dry: bool
    exit: Exit
    said: str
    """The whole in one sentence."""
    folder: Path
    refused: tuple[str, ...] = ()
    """Reasons not to begin, all of them."""
    targets: tuple[Target, ...] = ()
    steps: tuple[StepResult, ...] = ()
    undone: tuple[StepResult, ...] = ()
    rechecked: tuple[StepResult, ...] = ()
    offers: tuple[Offer, ...] = ()
    hanging: tuple[str, ...] = ()
    """Steps whose threads never came back; the process must not wait for them."""
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Give the machine form."""
        told: dict[str, Any] = plain(self)
        return told
