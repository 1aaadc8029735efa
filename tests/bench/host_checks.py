"""What proving a host costs: every setting of a board with eight rails, at once, and one by one by testinfra."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from infra.plan.hosts import HostFacts, Outcome, Rail, readings, wanted
from runbooks.lib.hosts.proof import here, judged, prove
from tests.bench.watch import Timing

RAILS = tuple(
    Rail(f"rail{number}", f"0000:{number + 16:02x}:00.0", f"10.{100 + number}.0.5/24", f"10.{100 + number}.0.1")
    for number in range(8)
)
HOST = HostFacts("here", "large", "hgx-h200", "roce", rails=RAILS)
"""This machine, asked everything that a GPU host is; what it lacks answers too, as fast."""


def at_once() -> Timing:
    """Facts and all checks in one round trip; best of three."""
    times, counts = [], Counter[Outcome]()
    for _ in range(3):
        start = time.monotonic()
        (proof,) = prove([HOST], here)
        times.append(time.monotonic() - start)
        counts = Counter(check.outcome for check in proof.checks)
    return min(times), f"best of 3, at most {max(times):.2f}; {_told(counts)}"


def one_by_one() -> Timing:
    """The same questions by testinfra, each a command of its own; once."""
    # Bench machines that time something else need no testinfra.
    from tests.host import plain

    items = wanted(HOST)
    asked = readings(items)
    start = time.monotonic()
    said = plain.ask(plain.connect(HOST, Path(), local=True), asked)
    counts = Counter(judged(item, said).outcome for item in items)
    return time.monotonic() - start, f"{len(asked)} questions; {_told(counts)}"


def _told(counts: Counter[Outcome]) -> str:
    each = ", ".join(f"{counts[outcome]} {outcome.value}" for outcome in Outcome)
    return f"{counts.total()} checks: {each}; local, without a network"
