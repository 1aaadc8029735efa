"""One thing that was found, in words, with what may be done about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from runbooks.engine.model import Outcome

if TYPE_CHECKING:
    from runbooks.engine.context import Context

FINDINGS = "findings"
"""Fact under which a step of a diagnosis leaves what it found."""

NO_FAULT = ("change", "old change", "drift", "departed", "new", "restarted", "leaving", "starting", "tenant", "gone")
"""Kinds of findings that explain a fault and are none by themselves: what they offer waits for a fault."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, or one thing worth knowing."""

    fault: str
    """Kind, such as ``hung`` or ``image``; tests and later steps go by it."""
    said: str
    """One sentence for people."""
    since: datetime | None = None
    offers: tuple[str, ...] = ()
    """Values of ``do`` that help against it."""
    about: str = ""
    """Name of what has it, such as a pod or a host."""

    def __str__(self) -> str:
        return f"{self.said}, since {self.since:%Y-%m-%d %H:%M:%S} UTC" if self.since else self.said


def told(all_of: Iterable[Finding], otherwise: str) -> Outcome:
    """End a step of a diagnosis: all findings in words, or that there was none."""
    every = list(all_of)
    said = "; ".join(map(str, every)) or otherwise
    return Outcome.ok(said, **{FINDINGS: [asdict(one) for one in every]})


def findings(ctx: Context) -> Iterator[Finding]:
    """Yield what the steps so far found."""
    for facts in ctx.facts.values():
        for one in facts.get(FINDINGS, ()):
            yield _read(one)


def found(ctx: Context, *faults: str) -> list[Finding]:
    """Findings of these kinds."""
    return [one for one in findings(ctx) if one.fault in faults]


def wanted(ctx: Context) -> set[str]:
    """Values of ``do`` that fit what was found; none as long as no fault is among it."""
    every = list(findings(ctx))
    if all(one.fault in NO_FAULT for one in every):
        return set()
    return {do for one in every for do in one.offers}


def given(ctx: Context) -> Any:
    """The inputs of the run, whatever class they are of."""
    return ctx.inputs


def _read(plain: Mapping[str, Any]) -> Finding:
    since = plain.get("since")
    when = datetime.fromisoformat(since) if isinstance(since, str) else since
    return Finding(plain["fault"], plain["said"], when, tuple(plain["offers"]), plain["about"])
