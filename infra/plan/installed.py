"""Charts that a stack installs, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Iterator

from infra.plan.charts import Chart, chart_of
from infra.plan.fabric import release
from infra.plan.facts import Plan
from infra.plan.gpu_operator.values import NAME
from infra.plan.manifests import kueue


def installed(plan: Plan) -> tuple[Chart, ...]:
    """Charts in the order in which they are installed."""
    names = [
        (release.CHART, release.is_installed(plan)),
        (NAME, plan.gpu_operator.installs),
        (kueue.CHART, kueue.is_installed(plan)),
    ]
    return tuple(chart_of(plan, name) for name, is_installed in names if is_installed)


def notes(plan: Plan) -> Iterator[str]:
    """Yield each chart whose digest nobody has said; the archive tells it, and the plan reads none."""
    for chart in installed(plan):
        if not chart.digest:
            yield (
                f"charts.{chart.name}: no source tells the digest of {chart.archive}; "
                "`pulumi preview` fetches it, names the digest, and stops until sha256 has it"
            )
