"""A run on the terminal: one line while it lasts, tables at its end."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from runbooks.lib.traffic.driver import Snapshot
from runbooks.lib.traffic.figures import Figures, Spread
from runbooks.lib.traffic.report import Report, stamp
from runbooks.lib.traffic.verdict import Verdict

SHOWN_FAILURES = 20
"""Failures that the terminal lists; JSON has all."""

LATE_DRIVER = 0.05
"""Lateness of the driver beyond which its figures are its own rather than the server's (s)."""


def line(now: Snapshot) -> str:
    """How a run stands, in one line."""
    counts = ", ".join(f"{now.counts[verdict]} {verdict}" for verdict in Verdict if now.counts[verdict])
    return (
        f"{now.elapsed:6.1f} s  {now.sent} sent, {now.open} open, {counts or 'none answered'}; "
        f"{now.tokens_per_second:.0f} tokens/s"
    )


def show(report: Report, console: Console) -> None:
    """Print tables: verdicts and figures by tenant and model, then failures and what to know about the figures."""
    table = Table(title=f"{report.sent} requests in {report.seconds:.1f} s", title_justify="left", box=None)
    for column in ("tenant", "model"):
        table.add_column(column)
    for column in (*Verdict, "tokens/s", "TTFT P50", "P95", "P99", "TPOT P50", "P95", "ITL P99", "E2E P95"):
        table.add_column(column, justify="right")
    for group in report.groups:
        table.add_row(group.tenant, group.model, *_cells(group.figures))
    if len(report.groups) > 1:
        table.add_row("all", "", *_cells(report.figures), style="bold")
    console.print(table)
    for sample in report.failures[:SHOWN_FAILURES]:
        who = f"{sample.tenant} {sample.model}" + (f" {sample.request_id}" if sample.request_id else "")
        console.print(f"{stamp(sample.due)} {sample.verdict} {who}: {sample.reason}", markup=False, highlight=False)
    if len(report.failures) > SHOWN_FAILURES:
        console.print(f"… and {len(report.failures) - SHOWN_FAILURES} more; --json has them all")
    for remark in remarks(report):
        console.print(remark, markup=False, highlight=False)


def remarks(report: Report) -> Iterator[str]:
    """Yield what must be known to read the figures."""
    lateness = report.lateness
    if lateness is not None:
        yield (
            f"driver: {report.cpu_cores:.2f} cores, at most {report.peak_open} open, "
            f"P99 {1000 * lateness.p99:.1f} ms behind its schedule"
        )
        if lateness.p99 > LATE_DRIVER:
            yield "this driver was late itself: its figures are worse than the server's"
    for side in report.engine:
        yield str(side)
    if not report.figures.complete:
        yield "nothing was answered: nothing can be told"


def ms(value: float) -> str:
    """Print seconds as milliseconds."""
    return f"{1000 * value:,.0f} ms" if value >= 0.1 else f"{1000 * value:.1f} ms"


def _cells(figures: Figures) -> Iterator[str]:
    for verdict in Verdict:
        yield str(figures.counts[verdict] or "-")
    yield f"{figures.tokens_per_second:,.0f}"
    yield from _some(figures.ttft, "p50", "p95", "p99")
    yield from _some(figures.tpot, "p50", "p95")
    yield from _some(figures.itl, "p99")
    yield from _some(figures.e2e, "p95")


def _some(spread: Spread | None, *names: str) -> Iterator[str]:
    for name in names:
        yield ms(getattr(spread, name)) if spread else "-"
