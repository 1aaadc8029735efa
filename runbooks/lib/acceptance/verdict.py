"""What came of an acceptance test: whether it reached its figures, and what is at fault when it did not."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from infra.catalog.acceptance import EVEN_SHARE
from infra.plan.hosts import Outcome

FEWEST = 3
"""Outputs of one test of which one may stand out (count); of two nobody knows which."""

LONGEST = 200
"""Characters of a line that are shown as evidence."""


STAGES = (
    (r"dcgmi ", "the GPUs themselves"),
    (r"nvbandwidth ", "copies within the host"),
    (r"\w+_perf on 1 host,", "NVLink"),
    (r"RDMA_", "each wire by itself, without NCCL"),
    (r"sendrecv_perf ", "each wire by itself, through NCCL"),
    (r"\w+_perf ", "all wires together"),
)
"""Start of a test's name → what it measures that the ones before it do not, nearest to the GPU first."""

NO_FIGURE = "a figure for this test and board, which nobody has"
"""What would have been wanted of a test that there is no threshold for; it is told and not judged."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault by name, why it is thought to be it, and what to do."""

    name: str
    evidence: str
    fix: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one test."""

    test: str
    """Program, and what it ran on where the output tells."""
    outcome: Outcome
    found: str
    wanted: str
    causes: tuple[Cause, ...] = ()
    """Most certain first; empty when it passed, or when nothing points anywhere."""
    rate: float | None = None
    """Bandwidth in the unit of ``found``, to be laid beside that of other hosts; None: there is none."""

    @property
    def said(self) -> str:
        """In one sentence."""
        why = "".join(f"; {cause.name} ({cause.evidence}): {cause.fix}" for cause in self.causes)
        return f"{self.test} — {self.outcome.value}: {self.found}, wanted {self.wanted}{why}"


@dataclass(frozen=True, slots=True)
class Sign:
    """A line of output that names a fault by itself."""

    pattern: str
    name: str
    fix: str


def signs(text: str, known: Iterable[Sign]) -> Iterator[Cause]:
    """Tell each fault that a line of the output names."""
    for sign in known:
        if match := re.search(rf"^.*(?:{sign.pattern}).*$", text, re.MULTILINE):
            yield Cause(sign.name, match[0].strip()[:LONGEST], sign.fix)


def worst(verdicts: Iterable[Verdict]) -> Outcome:
    """Outcome of several tests together; that of none cannot be told."""
    found = {verdict.outcome for verdict in verdicts}
    order = (Outcome.FAIL, Outcome.UNKNOWN, Outcome.PASS)
    return next((outcome for outcome in order if outcome in found), Outcome.UNKNOWN)


def unlike(named: Iterable[tuple[str, Verdict]]) -> Iterator[Verdict]:
    """Tell each output that is slower than others of its test, though a floor far below the wire may let it pass.

    Args:
        named: verdicts, each with the name of its output.
    """
    by: dict[str, list[tuple[str, Verdict, float]]] = {}
    for name, one in named:
        if one.rate is not None:
            by.setdefault(one.test.partition(" of ")[0], []).append((name, one, one.rate))
    for rows in by.values():
        usual = statistics.median(rate for _, _, rate in rows)
        for name, one, rate in rows if len(rows) >= FEWEST else ():
            if rate < EVEN_SHARE * usual:
                wanted = f"at least {EVEN_SHARE:.0%} of {usual:.1f}, which is usual in {len(rows)} outputs"
                yield Verdict(f"{one.test} in {name}", Outcome.FAIL, one.found, wanted, (_UNLIKE,))


_UNLIKE = Cause(
    "unlike the others", "the same test elsewhere", "runbook run host/verify_host; compare it with a good one"
)


def diverges(verdicts: Iterable[Verdict]) -> str | None:
    """Tell the first stage that fails, beside one that passes; None: no test fails, or no other stage is known good.

    Source: NVIDIA/nccl#2409, where a wire is good by itself and slow through NCCL.
    """
    outcomes: dict[int, set[Outcome]] = {}
    for verdict in verdicts:
        stage = next((place for place, (begins, _) in enumerate(STAGES) if re.match(begins, verdict.test)), None)
        if stage is not None:
            outcomes.setdefault(stage, set()).add(verdict.outcome)
    failed = [stage for stage, found in outcomes.items() if Outcome.FAIL in found]
    if not failed:
        return None
    first = min(failed)
    good = [STAGES[stage][1] for stage in range(first) if outcomes.get(stage) == {Outcome.PASS}]
    return f"first to fail: {STAGES[first][1]}; right before that: {', '.join(good)}" if good else None


def judged(value: float, floor: float | None, *, most: bool = False) -> Outcome:
    """Hold a figure against its limit; without a limit it cannot be told.

    Args:
        most: whether the limit is the highest that is allowed, not the lowest.
    """
    if floor is None:
        return Outcome.UNKNOWN
    return Outcome.PASS if (value <= floor if most else value >= floor) else Outcome.FAIL
