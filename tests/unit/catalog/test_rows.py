"""Look-ups in the catalog."""

from __future__ import annotations

import pytest

from infra.catalog.boards import BOARDS
from infra.catalog.engines import ENGINES, engine_for
from infra.catalog.targets import TARGETS


@pytest.mark.parametrize("table", [BOARDS, TARGETS], ids=["boards", "targets"])
def test_rows_are_found_by_their_own_name(table: dict[str, object]) -> None:
    """No row hides another of the same name."""
    assert [getattr(row, "name", None) for row in table.values()] == list(table)


@pytest.mark.parametrize("name", ENGINES)
def test_engine_rules_stand_newest_first(name: str) -> None:
    """The first row that a version reaches is the one that holds."""
    since = [row.since for row in ENGINES[name]]
    assert since == sorted(since, reverse=True)


@pytest.mark.parametrize("name", ENGINES)
def test_a_version_before_the_oldest_row_has_no_rules(name: str) -> None:
    """Unknown is not guessed."""
    major, minor = ENGINES[name][-1].since
    assert engine_for(name, (major, minor - 1)) is None
    assert engine_for(name, (major, minor)) is ENGINES[name][-1]
