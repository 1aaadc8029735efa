"""A report is one Markdown file with its plots beside it, the same for the same plan."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from infra.catalog.prices import REFERENCES
from infra.cli import main
from infra.errors import ConfigError
from infra.plan.layout import Layout
from infra.plan.outlook import Asked, Outlook, outlook
from infra.report.curves import cost_by_load, held_by_length
from infra.report.write import write
from tests.unit.fit.plans import single


def _outlook(**options: Any) -> Outlook:
    return outlook(single("llama-8b", "h100", "0.32.0", **options), Asked(), REFERENCES["h100"])


def test_every_plot_of_a_report_is_there(tmp_path: Path) -> None:
    """The Markdown names no file that is missing, and every plot is a picture."""
    written = write(tmp_path, "two", [_outlook(), _outlook(layout=Layout(2))])
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    named = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert named == [path.name for path in written[1:]] == ["memory.svg", "requests.svg", "cost.svg"]
    assert {ElementTree.parse(path).getroot().tag.rpartition("}")[2] for path in written[1:]} == {"svg"}  # noqa: S314


def test_a_report_is_the_same_twice(tmp_path: Path) -> None:
    """So that a pull request shows what changed, and nothing else."""
    first, second = (write(tmp_path / name, "one", [_outlook()]) for name in ("a", "b"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_a_model_that_does_not_start_has_no_cost(tmp_path: Path) -> None:
    """The report says so instead of drawing one."""
    written = write(tmp_path, "none", [_outlook(max_len=131072, utilisation=0.3)])
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "cost.svg" not in [path.name for path in written]
    assert "**Does not hold:** one request of 131,072 tokens" in text
    assert "No plot of cost" in text


def test_longer_requests_are_fewer() -> None:
    """The curve falls, and ends at the longest request."""
    points = held_by_length(_outlook(max_len=32768))
    assert [length for length, _ in points] == sorted(length for length, _ in points)
    assert [held for _, held in points] == sorted((held for _, held in points), reverse=True)
    assert points[-1][0] == 32768


def test_a_busy_replica_is_cheaper_for_each_token() -> None:
    """From one request at once to as many as fit."""
    points = cost_by_load(_outlook())
    assert points[0][0] == 1
    assert points[-1][1] < points[0][1] / 4


def test_nothing_planned_is_nothing_reported(tmp_path: Path) -> None:
    """A report without models would look like one."""
    with pytest.raises(ConfigError, match="no model could be planned"):
        write(tmp_path, "none", [])


def test_the_paths_do_not_spoil_the_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They go to standard error."""
    command = ["plan", "--model", "meta-llama/Llama-3.1-8B-Instruct", "--gpu", "h100", "--json"]
    main([*command, "--report", str(tmp_path)])
    out, err = capsys.readouterr()
    assert out.rstrip().endswith("}")
    assert err.splitlines()[0].endswith("report.md")
