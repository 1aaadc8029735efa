"""RW-402: a chart that can change under you."""

from __future__ import annotations

from collections.abc import Iterator

from infra.plan.charts import Chart
from infra.plan.facts import Refusal


def check(chart: Chart) -> Iterator[Refusal]:
    """Yield a chart that has no digest; asked of those that are installed."""
    if not chart.digest:
        found = f"{chart.archive} has no digest, so what is installed can change under you"
        fix = f"fetch it once, look at it, and write what `sha256sum {chart.archive}` prints"
        yield Refusal("RW-402", f"charts.{chart.name}.sha256", found, fix)
