"""The clock of these tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.unit.runbooks.fakes import BEGAN


def test_data_is_young_in_the_last_test_of_a_long_run(request: pytest.FixtureRequest) -> None:
    """What a table of cases calls 30 s ago is 30 s ago when its test runs, however late that is."""
    assert "clock" in request.fixturenames
    assert datetime.now(UTC) - BEGAN < timedelta(seconds=30)
