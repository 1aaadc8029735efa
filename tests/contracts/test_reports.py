"""What others met in public is answered by tests that exist."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

REPO = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("reports.yaml")
ROWS: list[dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
ANSWERS = sorted({test for row in ROWS for test in row["tests"]})


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
    assert row["tests"] or row["open"]
    assert set(row) <= {"reports", "broke", "tests", "open"}


def test_each_report_is_answered_in_one_place() -> None:
    """Two rows would say two things of it."""
    named = [report for row in ROWS for report in row["reports"]]
    assert sorted(named) == sorted(set(named))
