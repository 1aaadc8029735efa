"""Rule groups of a stack, in the form of a PrometheusRule's spec."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from infra.catalog import alerts, recordings
from infra.catalog.alerts.alert import Alert
from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.rules.constants import constants
from infra.plan.rules.pace import Pace, duration

Group = dict[str, Any]
"""``name`` and ``rules``."""

_UP = re.compile(r'\bup\{job="([a-z-]+)"\}')


def rules(plan: Plan) -> list[Group]:
    """Render every rule of a stack: what the plan expects, recordings by level, then alerts.

    The order is that in which they build on each other. Without monitoring there is nothing to render.
    """
    watched = plan.observability
    if watched is None:
        return []
    pace, figures = Pace(watched.pace, watched.scrape_interval), _figures(plan, watched)
    groups = [{"name": "plan", "rules": constants(plan, watched)}]
    for name, rows in recordings.GROUPS.items():
        said = [{"record": row.name, "expr": pace.fill(row.expr, figures)} for row in rows]
        groups.append({"name": name, "rules": said})
    for name, alerts_of in alerts.GROUPS.items():
        fired = [_alert(row, watched, pace, figures) for row in alerts_of if _is_seen(row, watched)]
        groups.append({"name": f"alerts-{name}", "rules": fired})
    return [group for group in groups if group["rules"]]


def _figures(plan: Plan, watched: ObservabilityPlan) -> dict[str, float | str]:
    return {
        "idle_tokens_per_s": watched.idle_tokens_per_s,
        # Seconds between two evaluations of a rule; Prometheus is told the same.
        "step": watched.scrape_interval,
        # Two scrapes more than an answer may take, so that its start and its end were seen.
        "longest": duration(plan.gateway.longest_answer + 2 * watched.scrape_interval),
    }


def _is_seen(row: Alert, watched: ObservabilityPlan) -> bool:
    """Whether the jobs are scraped whose absence it speaks of; it would fire for ever otherwise."""
    return set(_UP.findall(row.expr)) <= set(watched.jobs)


def _alert(row: Alert, watched: ObservabilityPlan, pace: Pace, figures: Mapping[str, float | str]) -> dict[str, Any]:
    known = {**figures, **row.limits}
    rule: dict[str, Any] = {"alert": row.name, "expr": pace.fill(row.expr, known)}
    if (hold := pace.hold(row.hold)) != "0s":
        rule["for"] = hold
    rule["labels"] = {"severity": row.severity, "level": row.level, **row.labels}
    rule["annotations"] = dict(_annotations(row, watched, pace, known))
    return rule


def _annotations(
    row: Alert, watched: ObservabilityPlan, pace: Pace, known: Mapping[str, float | str]
) -> Iterator[tuple[str, str]]:
    yield "summary", pace.fill(row.summary, known)
    yield "description", pace.fill(row.description, known)
    yield "runbook_url", f"{watched.runbook_base_url}/{row.name}.md"
    yield "runbook", row.runbook
    if row.drill:
        yield "drill", row.drill
