"""The report of a drill: JSON for machines, one page with its timeline for people."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from runbooks.engine.plain import plain

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.drill.model import Drill

COLOURS = {
    "steady": "#2a7", "fault": "#c22", "alert": "#e80", "page": "#c0c", "runbook": "#36c", "healed": "#888",
    "recovered": "#2a7",
}  # fmt: skip
"""One colour per station of the timeline."""


def as_dict(ctx: Context, drill: Drill, broken: Sequence[str]) -> dict[str, Any]:
    """All that is known at the end of a drill."""
    events = drill.timeline.events
    fault = drill.timeline.at("fault")
    seconds = {f"seconds_to_{kind}": _since(fault, drill.timeline.at(kind)) for kind in ("alert", "recovered")}
    return {
        "drill": drill.command(),
        "run": ctx.run_id,
        "stack": ctx.stack,
        "fault": drill.fault(ctx),
        "targets": [str(target) for target in ctx.targets],
        "alert": drill.expects.alert if drill.expects else None,
        "alerts": drill.expects.alerts if drill.expects else (),
        "no_alert_because": drill.silent_because,
        "runbook": drill.expects.runbook if drill.expects else None,
        **seconds,
        "broken": list(broken),
        "timeline": [asdict(event) for event in events],
        "traffic": drill.report.as_dict(),
    }


def write(ctx: Context, drill: Drill, broken: Sequence[str]) -> None:
    """Write ``drill.json`` and ``drill.html`` into the run's folder."""
    told = as_dict(ctx, drill, broken)
    (ctx.folder / "drill.json").write_text(json.dumps(plain(told), indent=1), encoding="utf-8")
    (ctx.folder / "drill.html").write_text(page(told, chart(drill)), encoding="utf-8")


def chart(drill: Drill) -> str:
    """SVG of the time to the first token and of failed requests, with the stations of the drill over them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    axes = figure.subplots()
    begun = drill.timeline.events[0].at
    points = [(s.due - begun, s.first_token) for s in drill.report.samples if s.first_token is not None]
    axes.plot([at for at, _ in points], [seconds for _, seconds in points], ".", color="#36c")
    for sample in drill.report.failures:
        axes.axvline(sample.ended - begun, color="#c22", alpha=0.3, linewidth=1)
    for event in drill.timeline.events:
        axes.axvline(event.at - begun, color=COLOURS[event.kind], linewidth=1.5)
        axes.annotate(event.kind, (event.at - begun, 1.01), xycoords=("data", "axes fraction"), rotation=30, fontsize=8)
    axes.set(xlabel="seconds", ylabel="first token (s)", ylim=(0, None))
    out = io.StringIO()
    figure.savefig(out, format="svg")
    return out.getvalue()[out.getvalue().index("<svg") :]


def page(told: dict[str, Any], svg: str) -> str:
    """The page; nothing in it comes from elsewhere."""
    verdict = "failed: " + "; ".join(told["broken"]) if told["broken"] else "passed"
    begun = told["timeline"][0]["at"]
    rows = "".join(
        f"<tr><td>{event['at'] - begun:.1f} s</td><td>{html.escape(event['kind'])}</td>"
        f"<td>{html.escape(event['said'])}</td></tr>"
        for event in told["timeline"]
    )
    counts = ", ".join(f"{number} {verdict}" for verdict, number in told["traffic"]["counts"].items() if number)
    return (
        "<!doctype html><html lang=en><meta charset=utf-8>"
        f"<title>{html.escape(told['drill'])}</title><style>body{{font:14px sans-serif;max-width:70em;margin:2em auto}}"
        "td{padding:2px 12px 2px 0;vertical-align:top}</style>"
        f"<h1>{html.escape(told['drill'])} — {html.escape(verdict)}</h1><p>{html.escape(told['fault'])}</p>"
        f"{svg}<table>{rows}</table><p>Requests: {html.escape(counts)}</p></html>"
    )


def _since(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else round(end - start, 1)
