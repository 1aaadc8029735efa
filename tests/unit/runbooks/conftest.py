"""The clock of runbooks that meet a cluster in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import time_machine

from tests.unit.runbooks.fakes import BEGAN


@pytest.fixture(autouse=True)
def clock() -> Iterator[None]:
    """
    Each test begins when the fakes' data began.

    Tables of cases are made when pytest collects, tests may run half an hour later: an event "30 s ago" would then be
    older than any runbook looks back.
    """
    with time_machine.travel(BEGAN, tick=True):
        yield
