"""What came of each host, as lines of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from infra.plan.hosts import Check, Outcome
from tests.host.suite import Suite

HEAD = f"{'HOST':<24}{'PASS':>6}{'FAIL':>6}{'CANNOT TELL':>13}"


def lines(suite: Suite) -> Iterator[str]:
    """A line for each host, then one for each check that did not pass."""
    yield HEAD
    for host, checks in suite.checks.items():
        counts = Counter(check.outcome for check in checks)
        yield f"{host:<24}{counts[Outcome.PASS]:>6}{counts[Outcome.FAIL]:>6}{counts[Outcome.UNKNOWN]:>13}"
    for outcome in (Outcome.FAIL, Outcome.UNKNOWN):
        for host, checks in suite.checks.items():
            yield from (_line(host, check) for check in checks if check.outcome is outcome)


def _line(host: str, check: Check) -> str:
    word = "fail" if check.outcome is Outcome.FAIL else "cannot tell"
    action = f" — {check.action}" if check.action else ""
    return f"{word}: {host} {check.id} is {check.found}, wanted {check.wanted}{action}"
