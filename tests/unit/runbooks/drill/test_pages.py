"""Results and reports say what happened, also when it did not go well."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.catalog.alerts import ALERTS
from runbooks.engine.result import Exit, Result
from runbooks.lib.drill import results
from runbooks.lib.drill.report import page
from runbooks.lib.drill.timeline import Timeline


def _result(tmp_path: Path, **changes: Any) -> Result:
    base = Result("r1", "drills/stop_dns", "lab", False, Exit.DONE, "done", tmp_path, seconds=61.2)
    return replace(base, **changes)


@pytest.fixture
def told(tmp_path: Path) -> dict[str, Any]:
    """What a drill that went well wrote into its folder."""
    report = {
        "alert": "DnsDown", "alerts": ["DnsDown"], "seconds_to_alert": 18.4, "seconds_to_recovered": None,
        "traffic": {"counts": {"ok": 40, "lost": 1, "cut": 2, "aborted": 1}},
    }  # fmt: skip
    (tmp_path / "drill.json").write_text(json.dumps(report))
    return report


def test_a_result_is_kept_in_the_place_of_the_last_one(tmp_path: Path, told: dict[str, Any]) -> None:
    """One row per drill, in order, with the figures of its report; the page is made anew each time."""
    file = tmp_path / "RESULTS.json"
    results.keep(file, _result(tmp_path, exit=Exit.UNDONE, said="recovery: not so after 3 min"))
    results.keep(file, _result(tmp_path, runbook="drills/flap_nic"))
    assert "- `stop_dns`: recovery: not so after 3 min" in file.with_suffix(".md").read_text()
    results.keep(file, _result(tmp_path))
    kept = json.loads(file.read_text())
    assert list(kept) == ["drills/flap_nic", "drills/stop_dns"]
    assert kept["drills/stop_dns"] | {"at": ""} == {
        "at": "", "result": "passed", "reason": "", "alert": "DnsDown", "alerts": ["DnsDown"],
        "seconds_to_alert": 18.4,
        "seconds_to_recovered": None, "requests": 44, "failed": 3, "seconds": 61,
    }  # fmt: skip
    text = file.with_suffix(".md").read_text()
    assert "| `stop_dns` | passed | DnsDown | 18 s | — | 44 | 3 | 61 s |" in text
    assert "recovery" not in text


def test_a_drill_that_failed_before_it_had_a_report_has_a_row(tmp_path: Path) -> None:
    """No figures are no reason to keep quiet."""
    file = tmp_path / "RESULTS.json"
    results.keep(file, _result(tmp_path, exit=Exit.UNDO_FAILED))
    assert "| `stop_dns` | undo failed | none due | — | — | 0 | 0 |" in file.with_suffix(".md").read_text()


def test_what_a_stack_cannot_have_is_told_with_its_reason(tmp_path: Path) -> None:
    """Left out is not passed."""
    file = tmp_path / "RESULTS.json"
    results.leave_out(file, "drills/jump_clock", "one clock for all")
    text = file.with_suffix(".md").read_text()
    assert "| `jump_clock` | elsewhere |" in text
    assert "- `jump_clock`: one clock for all" in text


def test_every_alert_is_on_the_page_with_what_answers_it() -> None:
    """Alert, runbook, drill, last result; alerts without a drill that ran say so."""
    text = results.render({"drills/stop_dns": {"result": "passed", "alert": "DnsDown"}})
    for alert in ALERTS.values():
        assert f"[{alert.name}](runbooks/{alert.name}.md)" in text
    assert "| [DnsDown](runbooks/DnsDown.md) | page | `cluster/restore_control_plane` | `stop_dns` | passed |" in text
    assert "`lose_leaf` | not run |" in text
    assert "| — | promtool only |" in text


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"result": "passed", "alert": "GpuXid", "alerts": ["GpuXid", "GpuLost"]}, "passed"),
        ({"result": "passed", "alert": "GpuXid"}, "not seen"),
        ({"result": "undone", "alert": "GpuXid"}, "undone"),
    ],
)
def test_an_alert_that_its_drill_did_not_wait_for_has_not_passed(row: dict[str, Any], said: str) -> None:
    """One that nobody saw fire was shown as passed, because the drill it names had passed with another."""
    line = next(line for line in results.render({"drills/lose_gpu": row}).splitlines() if "[GpuLost]" in line)
    assert line.endswith(f"| `lose_gpu` | {said} |")


@pytest.mark.parametrize(("broken", "verdict"), [([], "passed"), (["during: 3 requests lost"], "failed: during: 3")])
def test_a_report_page_tells_all_and_needs_nothing(broken: list[str], verdict: str) -> None:
    """One file with verdict, fault, timeline and counts; text from outside cannot become markup."""
    events = [{"at": 100.0, "kind": "fault", "said": "<b>pod</b>"}, {"at": 118.5, "kind": "alert", "said": "X fired"}]
    told = {"drill": "drills/x", "fault": "a & b", "broken": broken, "timeline": events,
            "traffic": {"counts": {"ok": 3, "lost": 0, "cut": 1}}}  # fmt: skip
    text = page(told, "<svg></svg>")
    assert verdict in text
    assert "18.5 s" in text
    assert "X fired" in text
    assert "a &amp; b" in text
    assert "3 ok, 1 cut" in text
    assert "<b>" not in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert "src=" not in text


def test_a_station_is_reached_once() -> None:
    """The first time counts; a station that was not reached has no time."""
    timeline = Timeline()
    timeline.add("fault", "one")
    first = timeline.at("fault")
    timeline.add("fault", "two")
    assert timeline.at("fault") == first is not None
    assert timeline.at("alert") is None
