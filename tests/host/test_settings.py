"""Every setting of the catalogue on every host, as it is right now."""

from __future__ import annotations

import pytest

from infra.plan.hosts import Check, Outcome


def test_setting(check: Check) -> None:
    """The running host says what the catalogue wants, or the inventory in its place."""
    if check.outcome is not Outcome.PASS:
        evidence = f" ({check.evidence})" if check.evidence else ""
        pytest.fail(
            f"{check.severity}: {check.id} is {check.found}, wanted {check.wanted}: {check.why} — "
            f"{check.action}{evidence}",
            pytrace=False,
        )
