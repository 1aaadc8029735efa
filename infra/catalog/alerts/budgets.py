"""Alerts of error budgets: two windows each, so that they are quick to fire and quick to end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infra.catalog.alerts.alert import Alert, Severity


@dataclass(frozen=True, slots=True)
class Burn:
    """A pace at which a budget of 30 days is spent, and the windows in which it is told."""

    name: str
    severity: Severity
    long: str
    short: str
    factor: float
    """Times the pace that spends the budget in exactly 30 days."""


BURNS = (
    Burn("ErrorBudgetBurnFast", "page", "1h", "5m", 14.4),
    Burn("ErrorBudgetBurnFast", "page", "6h", "30m", 6),
    Burn("ErrorBudgetBurnSlow", "ticket", "1d", "2h", 3),
    Burn("ErrorBudgetBurnSlow", "ticket", "3d", "6h", 1),
)
"""2 % of the budget in an hour, 5 % in six, 10 % in a day, 10 % in three.

Source: The Site Reliability Workbook, chapter 5, Multiwindow, Multi-Burn-Rate Alerts.
"""


def _expr(burn: Burn) -> str:
    # Clamped, as a small promise times a large factor is more than everything and would never be reached.
    limit = "on (model, slo) group_left () clamp_max(<factor> * plan:error_budget:ratio, 0.95)"
    # Few requests: the share says little, so a number of bad ones must be behind it.
    enough = f"sum_over_time(slo:bad:rate[<{burn.long}>]) * <step> >= <failures>"
    both = f"slo:errors:ratio_{burn.long} > {limit} and on (model, slo) slo:errors:ratio_{burn.short} > {limit}"
    return f"{both} and on (model, slo) {enough}"


def _alerts() -> Iterator[Alert]:
    for burn in BURNS:
        yield Alert(
            burn.name, burn.severity, "service", hold="0s", expr=_expr(burn),
            limits={"factor": burn.factor, "failures": 5}, labels={"window": burn.long},
            summary="{{ $labels.model }} spends its error budget for {{ $labels.slo }} <factor> times too fast",
            description="{{ $value | humanizePercentage }} of the events of the last <" + burn.long
                        + "> broke the promise, and it still goes on.",
            runbook="serving/explain_latency", drill="cut_network",
            source="The Site Reliability Workbook, chapter 5, for a budget of 30 days",
        )  # fmt: skip


BUDGETS = tuple(_alerts())
"""Two pages, two tickets."""
