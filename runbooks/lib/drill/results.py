"""The last result of each drill, and the page that shows alert → runbook → drill → result."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from infra.catalog.alerts import ALERTS
from runbooks.lib.drill.claims import FAILURES

if TYPE_CHECKING:
    from runbooks.engine.result import Result

LONGEST = 240
"""Length of a reason on the page (count); the run's record has all of it."""


def keep(file: Path, result: Result) -> None:
    """Put a result in the place of the drill's last one, and render the page beside the file."""
    _put(file, result.runbook, _row(result))


def leave_out(file: Path, command: str, reason: str) -> None:
    """Say of a drill why this stack cannot have it."""
    _put(file, command, {"result": "elsewhere", "reason": reason})


def _put(file: Path, command: str, row: Mapping[str, Any]) -> None:
    known: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    known[command] = row
    ordered = dict(sorted(known.items()))
    file.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    file.with_suffix(".md").write_text(render(ordered), encoding="utf-8")


def _row(result: Result) -> dict[str, Any]:
    told = result.folder / "drill.json"
    report: Mapping[str, Any] = json.loads(told.read_text(encoding="utf-8")) if told.exists() else {}
    counts = report.get("traffic", {}).get("counts", {})
    return {
        "at": datetime.now(UTC).strftime("%Y-%m-%d"),
        "result": "passed" if result.exit == 0 else result.exit.name.lower().replace("_", " "),
        "reason": "" if result.exit == 0 else shorten(result.said, LONGEST, placeholder=" …"),
        "alert": report.get("alert"),
        "alerts": list(report.get("alerts", ())),
        "seconds_to_alert": report.get("seconds_to_alert"),
        "seconds_to_recovered": report.get("seconds_to_recovered"),
        "requests": sum(counts.values()),
        "failed": sum(counts.get(verdict, 0) for verdict in FAILURES),
        "seconds": round(result.seconds),
    }


def render(known: Mapping[str, Mapping[str, Any]]) -> str:
    """The page: drills with what they came to, and alerts with what answers and what proves them."""
    head = "| drill | result | alert | fired after | recovered after | requests | failed | took | on |\n"
    lines = [
        "# Results",
        "",
        "The last result of each drill, by `runbook drill … --results RESULTS.json`; `--all --lab --yes` makes all.",
        "",
        head + "|" + " --- |" * 9,
        *(_drill_line(name, row) for name, row in known.items()),
        *_reasons(known),
        "",
        "| alert | severity | runbook | drill | last result |",
        "|" + " --- |" * 5,
        *_alert_lines(known),
    ]
    return "\n".join(lines) + "\n"


def _drill_line(name: str, row: Mapping[str, Any]) -> str:
    cells = (
        f"`{name.removeprefix('drills/')}`",
        row["result"],
        row.get("alert") or "none due",
        _seconds(row.get("seconds_to_alert")),
        _seconds(row.get("seconds_to_recovered")),
        str(row.get("requests", "—")),
        str(row.get("failed", "—")),
        _seconds(row.get("seconds")),
        row.get("at", "—"),
    )
    return f"| {' | '.join(cells)} |"


def _reasons(known: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    told = [f"- `{name.removeprefix('drills/')}`: {row['reason']}" for name, row in known.items() if row.get("reason")]
    return ["", *told] if told else []


def _alert_lines(known: Mapping[str, Mapping[str, Any]]) -> Iterable[str]:
    for alert in ALERTS.values():
        row = known.get(f"drills/{alert.drill}") if alert.drill else None
        last = _last(alert.name, row) if row else "not run" if alert.drill else "promtool only"
        drill = f"`{alert.drill}`" if alert.drill else "—"
        yield f"| [{alert.name}](runbooks/{alert.name}.md) | {alert.severity} | `{alert.runbook}` | {drill} | {last} |"


def _last(alert: str, row: Mapping[str, Any]) -> str:
    """What a drill came to for one of its alerts: one that was not waited for has not been seen to fire."""
    seen = row.get("alerts") or [row.get("alert")]
    return "not seen" if row["result"] == "passed" and alert not in seen else str(row["result"])


def _seconds(value: float | None) -> str:
    return "—" if value is None else f"{value:.0f} s"
