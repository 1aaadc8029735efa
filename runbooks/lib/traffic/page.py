"""A run as one HTML page that needs no other file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from io import StringIO
from typing import Any

from runbooks.lib.traffic.figures import DEFINITIONS, Spread
from runbooks.lib.traffic.report import Group, Report, stamp
from runbooks.lib.traffic.table import ms, remarks
from runbooks.lib.traffic.verdict import FAILED, Verdict

SHOWN_FAILURES = 500
"""Failures that the page lists; JSON has all."""

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1a1a1a }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .2rem .7rem; text-align: right }
th { border-bottom: 1px solid #999; font-weight: 600 } td:first-child, th:first-child { text-align: left }
td.text { text-align: left } tr.bad td { color: #b00020 } svg { width: 100%; height: auto }
"""
"""Looks of the page; no font, script or image from elsewhere."""


def page(report: Report) -> str:
    """Render the whole page."""
    title = f"Traffic of {stamp(report.begun)}"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in report.counts.items() if count) or "none"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{report.sent} requests to {escape(report.profile.url)} in {report.seconds:.1f} s: {escape(counts)}.</p>",
        *(f"<p>{escape(remark)}</p>" for remark in remarks(report)),
        charts(report),
        "<h2>By tenant and model</h2>",
        _table(_HEAD, [_row(group) for group in report.groups]),
        *_failures(report),
        "<h2>What the figures mean</h2>",
        _table(("figure", "definition"), [(name, text) for name, text in DEFINITIONS.items()], text=(1,)),
        "<h2>Profile</h2>",
        _table(("key", "value"), [(key, str(value)) for key, value in report.profile.public().items()], text=(1,)),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def charts(report: Report) -> str:
    """Draw the run over time: requests, tokens, first tokens."""
    from matplotlib.figure import Figure

    series = report.series
    seconds = [second.second for second in series]
    figure = Figure(figsize=(11, 7), layout="constrained")
    requests, tokens, waits = figure.subplots(3, 1, sharex=True)
    requests.plot(seconds, [second.sent for second in series], label="sent per second", color="#4269d0")
    requests.plot(seconds, [second.open for second in series], label="open", color="#9c9c9c")
    bad = [sum(second.ended.get(verdict, 0) for verdict in FAILED) for second in series]
    requests.bar(seconds, bad, label="lost, cut or wrong", color="#b00020")
    tokens.plot(seconds, [second.tokens for second in series], label="output tokens per second", color="#3ca951")
    seen = [(second.second, second.ttft_p95) for second in series if second.ttft_p95 is not None]
    waits.plot([at for at, _ in seen], [wait for _, wait in seen], ".", label="first token P95 (s)", color="#efb118")
    waits.set_xlabel("seconds since the start")
    for axes in (requests, tokens, waits):
        axes.legend(loc="upper left", frameon=False)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    out = StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()[out.getvalue().index("<svg") :]


_HEAD = ("tenant", "tier", "model", *Verdict, "tokens/s", "TTFT P50", "P95", "P99", "TPOT P50", "P95", "E2E P50", "P95")


def _row(group: Group) -> tuple[str, ...]:
    figures = group.figures
    return (
        *(group.tenant, group.tier, group.model),
        *(str(figures.counts[verdict]) for verdict in Verdict),
        f"{figures.tokens_per_second:,.1f}",
        *_some(figures.ttft, "p50", "p95", "p99"),
        *_some(figures.tpot, "p50", "p95"),
        *_some(figures.e2e, "p50", "p95"),
    )


def _some(spread: Spread | None, *names: str) -> Iterator[str]:
    return (ms(getattr(spread, name)) if spread else "–" for name in names)


def _failures(report: Report) -> Iterator[str]:
    if not report.failures:
        return
    yield f"<h2>Lost, cut or wrong ({len(report.failures)})</h2>"
    rows = [
        (stamp(one.due), stamp(one.ended), one.verdict, one.tenant, one.model, one.tokens, one.request_id, one.reason)
        for one in report.failures[:SHOWN_FAILURES]
    ]
    yield _table(("due", "ended", "verdict", "tenant", "model", "tokens", "request", "reason"), rows, text=(7,))


def _table(head: Iterable[str], rows: Iterable[Sequence[Any]], text: Sequence[int] = ()) -> str:
    top = "".join(f"<th>{escape(str(name))}</th>" for name in head)
    lines = []
    for row in rows:
        cells = (
            f'<td class="text">{escape(str(cell))}</td>' if place in text else f"<td>{escape(str(cell))}</td>"
            for place, cell in enumerate(row)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><thead><tr>{top}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
