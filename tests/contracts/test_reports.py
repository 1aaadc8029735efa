"""What others met in public is answered by tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.catalog.host_tuning import SETTINGS

REPO = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("reports.yaml")
ROWS: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
ANSWERS = sorted({test for row in ROWS for test in row.get("tests", [])})
SOURCES = {setting.id: setting.source for setting in SETTINGS}


@pytest.mark.parametrize("test", ANSWERS)
def test_a_test_that_answers_a_report_exists(test: str) -> None:
    """A renamed or lost one would leave the answer unguarded."""
    file, _, function = test.partition("::")
    path = REPO / file
    assert path.is_file()
    if function:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["reports"][0].rpartition("/")[2])
def test_a_report_without_a_test_says_what_is_open(row: dict[str, Any]) -> None:
    """Nothing is called answered that is not."""
    assert row.get("tests") or row.get("settings") or row["open"]
    assert set(row) <= {"reports", "broke", "tests", "settings", "open"}


@pytest.mark.parametrize(
    "row", [row for row in ROWS if "settings" in row], ids=lambda row: row["reports"][0].rpartition("/")[2]
)
def test_a_setting_that_answers_a_report_names_it(row: dict[str, Any]) -> None:
    """Whoever reads why a host fails finds the others who had it; each setting is seen to fail by tests of its own."""
    said = " ".join(SOURCES[setting] for setting in row["settings"])
    assert [one for one in row["reports"] if not re.search(rf"#{one.partition('#')[2]}\b", said)] == []


def test_each_report_is_answered_in_one_place() -> None:
    """Two rows would say two things of it."""
    named = [report for row in ROWS for report in row["reports"]]
    assert sorted(named) == sorted(set(named))
