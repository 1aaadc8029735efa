"""Dashboards are drawn from what exists, and Grafana reads them as they are meant."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from infra.catalog.metrics import METRICS, SERIES
from infra.catalog.recordings import RECORDINGS
from infra.cli import main
from infra.plan.dashboards import BOARDS
from infra.plan.dashboards.board import COLUMNS, Board, Panel, Query, everything
from infra.plan.dashboards.grafana import rendered
from infra.plan.dashboards.panels import UNITS
from infra.plan.manifests.observability import watch
from infra.plan.rules import rules
from infra.plan.rules.expressions import counted, labels, metrics
from tests.tools import promtool
from tests.unit.plan.specs import plan_of

REPO = Path(__file__).resolve().parents[3]
LAB = REPO / "stacks/Pulumi.lab.yaml"
WATCHED = {"observability": {"storage": {"size_gib": 100}}}
ALL = [(board, panel, query) for board in BOARDS for panel in board.panels() for query in panel.queries]
KNOWN_LABELS = {
    *("job", "instance", "namespace", "pod", "host", "pool", "leaf", "model", "container"),
    *("slo", "metrics", "setting", "kind", "alertname", "alertstate", "severity", "level", "tier", "tenant"),
    *(label for row in METRICS.values() for label in row.labels),
}
"""What relabelling, our rules and Prometheus write, and what exporters give."""
NO_MEAN = re.compile(
    r"\b(?:avg|sum|quantile|avg_over_time|sum_over_time)\b\s*(?:(?:by|without)\s*\([^()]*\)\s*)?"
    r"\([^()]*:(?:ratio\w*|p\d+|mean|max)\b"
)
"""A mean or sum over what cannot be added: shares of different wholes, and quantiles."""

each_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
each_panel = pytest.mark.parametrize(
    "panel", [panel for board in BOARDS for panel in board.panels()], ids=lambda panel: panel.title
)
each_query = pytest.mark.parametrize(
    ("board", "panel", "query"), ALL, ids=[f"{board.name}-{panel.title}-{query.name}" for board, panel, query in ALL]
)


def _grafana(board: Board) -> dict[str, Any]:
    plan = plan_of(WATCHED)
    assert plan.observability is not None
    return rendered(board, plan.observability)


def _panels(board: Board) -> list[dict[str, Any]]:
    return [panel for panel in _grafana(board)["panels"] if panel["type"] != "row"]


@each_board
def test_grafana_reads_what_we_wrote(board: Board) -> None:
    """The SDK reads the JSON into its types and writes the same again: no key is misspelt or lost."""
    register_default_plugins()
    said = _grafana(board)
    assert json.loads(JSONEncoder().encode(Dashboard.from_json(said))) == said


@each_board
def test_ids_are_unique_and_the_text_is_the_same_each_time(board: Board) -> None:
    """Two panels with one number show one of them; a text that changes by itself is an update for nothing."""
    said = _grafana(board)
    numbers = [panel["id"] for panel in said["panels"]]
    assert len(numbers) == len(set(numbers))
    assert said == _grafana(board)
    assert len({_grafana(other)["uid"] for other in BOARDS}) == len(BOARDS)


@each_board
def test_panels_fill_their_lines_and_cover_nothing(board: Board) -> None:
    """Every line of the grid is 24 wide, and no two panels share a place."""
    taken: dict[tuple[int, int], str] = {}
    tops: dict[int, int] = {}
    for panel in _grafana(board)["panels"]:
        place = panel["gridPos"]
        tops[place["y"]] = tops.get(place["y"], 0) + place["w"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in taken, f"{panel['title']} covers {taken[x, y]}"
                taken[x, y] = panel["title"]
    assert set(tops.values()) == {COLUMNS}


@each_query
def test_every_metric_of_a_panel_exists(board: Board, panel: Panel, query: Query) -> None:
    """It is recorded by our rules, or in the catalogue of metrics."""
    recorded = {rule.get("record") for group in rules(plan_of(WATCHED)) for rule in group["rules"]}
    expr = query.filled(everything("1m"))
    assert metrics(expr) - SERIES.keys() - RECORDINGS.keys() - recorded == set()
    assert labels(expr) - KNOWN_LABELS == set()
    assert [name for name in counted(expr) if SERIES[name].kind == "gauge"] == []


@each_query
def test_no_panel_averages_ratios(board: Board, panel: Panel, query: Query) -> None:
    """The mean of two shares is no share of anything, and the sum of two quantiles no quantile."""
    assert NO_MEAN.search(query.expr) is None


@pytest.mark.parametrize("expr", ["avg(model:errors:ratio)", "sum by (tenant) (tenant:client_e2e_seconds:p99)"])
def test_a_mean_of_ratios_would_be_found(expr: str) -> None:
    """Otherwise the test above could not fail."""
    assert NO_MEAN.search(expr)


@each_query
def test_a_query_asks_only_what_the_reader_can_choose(board: Board, panel: Panel, query: Query) -> None:
    """A variable that the dashboard lacks would be sent as it is, and match nothing."""
    chosen = {variable.name for variable in board.variables} | {"__rate_interval"}
    assert set(re.findall(r"\$(\w+)", query.expr)) <= chosen


@each_board
def test_every_variable_narrows_something_down(board: Board) -> None:
    """A choice without an effect misleads."""
    text = " ".join(query.expr for panel in board.panels() for query in panel.queries)
    assert [variable.name for variable in board.variables if f"${variable.name}" not in text] == []


@each_board
def test_every_panel_has_a_unit_and_says_what_it_shows(board: Board) -> None:
    """A number without a unit is a guess."""
    for panel in _panels(board):
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS.values(), panel["title"]
        assert panel["description"].endswith("."), panel["title"]
        assert panel["targets"], panel["title"]


@each_panel
def test_a_panel_that_needs_hardware_says_what(panel: Panel) -> None:
    """Also where Grafana shows that there is no data, and only for what a lab cannot have."""
    named = {name for query in panel.queries for name in metrics(query.filled(everything("1m")))}
    assert not panel.needs_hardware or len(panel.needs_hardware.split()) >= 4
    assert panel.needs_hardware or not [name for name in named if name in SERIES and SERIES[name].hardware]


@each_board
def test_no_data_is_told_and_hardware_is_named(board: Board) -> None:
    """Grafana shows the same words as the report."""
    told = {panel["title"]: panel["fieldConfig"]["defaults"]["noValue"] for panel in _panels(board)}
    for panel in board.panels():
        want = f"no data (needs {panel.needs_hardware})" if panel.needs_hardware else "no data"
        assert told[panel.title] == want


@each_board
def test_a_title_is_given_once_per_row_and_alerts_are_marked(board: Board) -> None:
    """Two panels of one name cannot be told apart in a conversation."""
    for row in board.rows:
        titles = [panel.title for panel in row.panels]
        assert len(titles) == len(set(titles))
    marks = _grafana(board)["annotations"]["list"]
    assert {mark["name"] for mark in marks} == {"Alerts: page", "Alerts: ticket"}
    assert all(metrics(mark["expr"]) == {"ALERTS"} for mark in marks)


def test_prometheus_can_parse_every_query(tmp_path: Path) -> None:
    """Each as a rule of its own, with everything chosen."""
    values = everything("1m")
    said = [{"record": f"x:{number}", "expr": query.filled(values)} for number, (_, _, query) in enumerate(ALL)]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": said}]}), encoding="utf-8")
    ended = subprocess.run([promtool(), "check", "rules", str(path)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def _maps(changes: Mapping[str, Any]) -> dict[str, Any]:
    plan = plan_of(WATCHED | dict(changes))
    assert plan.observability is not None
    return {part: item for part, item in watch(plan, plan.observability).items() if item["kind"] == "ConfigMap"}


def test_grafanas_sidecar_finds_every_dashboard() -> None:
    """One ConfigMap each, with the label it looks for, and far below the largest object of the API server."""
    found = _maps({})
    assert set(found) == {f"dashboard-{board.name}" for board in BOARDS}
    for item in found.values():
        assert item["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert item["metadata"]["namespace"] == "monitoring"
        (text,) = item["data"].values()
        assert json.loads(text)["panels"]
        assert len(text) < 500_000


def test_dashboards_can_be_left_out() -> None:
    """Who has their own wants none of ours."""
    assert _maps({"observability/dashboards": False}) == {}


def test_the_command_writes_one_file_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a folder that it makes; it prints their paths."""
    assert main(["dashboards", str(LAB), "--out", str(tmp_path / "new")]) == 0
    printed = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert [json.loads(path.read_text())["title"] for path in printed] == [board.title for board in BOARDS]


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, exit code 2."""
    (tmp_path / "file").write_text("")
    assert main(["dashboards", str(LAB), "--out", str(tmp_path / "file")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_plan_does_not_wait_for_grafana() -> None:
    """`infra plan` and the program of a stack that is not watched import nothing of its SDK."""
    code = (
        "import sys; from infra.cli import main; import infra.plan.manifests.observability; "
        f"main(['plan', {str(LAB)!r}]); sys.exit(any(name.startswith('grafana') for name in sys.modules))"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
