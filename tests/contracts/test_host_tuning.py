"""The table of host settings in the docs is the catalogue's."""

from __future__ import annotations

from infra.catalog.host_tuning import SETTINGS
from infra.catalog.settings import SETTINGS as SEEN
from infra.catalog.settings import WATCHED
from infra.document.host_tuning import PAGE, page


def test_the_table_is_fresh() -> None:
    """Run `python -m infra.document.host_tuning` after a change of the catalogue."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_what_monitoring_watches_is_in_the_catalogue() -> None:
    """With the same value, so that an alert and a check never disagree."""
    assert [one.key for one in SEEN] == list(WATCHED)
    values = {row.key: str(row.value) for row in SETTINGS if row.key}
    assert {one.key: str(one.least) for one in SEEN} == {key: values[key] for key in WATCHED}
