"""Recordings of error budgets: what was promised per model, what happened, and over which windows."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.recordings.recording import Recording

WINDOWS = ("5m", "30m", "1h", "2h", "6h", "1d", "3d")
"""Windows of the burn rates. Source: The Site Reliability Workbook, chapter 5, for a budget of 30 days."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A promise about a duration, measured by a histogram with an edge at the limit."""

    slo: str
    histogram: str
    only: str
    """Selector within the histogram."""
    unit_per_second: int
    """Units of its edges in one second: 1, or 1,000 where they are ms."""


TIMED = (
    Timed("first_token", "envoy_railwright_first_token_ms", 'model!="-"', 1_000),
    Timed("latency", "envoy_railwright_duration_ms", 'model!="-"', 1_000),
    Timed("token", "vllm:request_time_per_output_token_seconds", "", 1),
)
"""Durations that are promised; ``availability`` is the fourth promise."""


def _named(expr: str, slo: str) -> str:
    return f'label_replace({expr}, "slo", "{slo}", "", "")'


def _all(row: Timed) -> str:
    return f"sum by (model) (rate({row.histogram}_count{{{row.only}}}[<5m>]))"


def _within(row: Timed) -> str:
    edge = f'plan:slo_edge:bool{{slo="{row.slo}"}}'
    buckets = f"rate({row.histogram}_bucket{{{row.only}}}[<5m>])"
    return f"sum by (model) ({buckets} * on (model, le) group_left () {edge})"


def _windows() -> tuple[Recording, ...]:
    rows = [Recording("slo:errors:ratio_5m", "slo:bad:rate / (slo:events:rate > 0)", "Share of bad events, 5 minutes")]
    for window in WINDOWS[1:]:
        ratio = f"avg_over_time(slo:bad:rate[<{window}>]) / (avg_over_time(slo:events:rate[<{window}>]) > 0)"
        rows.append(Recording(f"slo:errors:ratio_{window}", ratio, f"Share of bad events, {window}"))
    return tuple(rows)


SLO = (
    Recording("slo:events:rate", " or ".join([_named("model:judged:rate", "availability"),
                                               *(_named(_all(row), row.slo) for row in TIMED)]),
              "Events that a promise speaks of (1/s)"),
    Recording("slo:bad:rate", " or ".join([_named("model:failures:rate", "availability"),
                                            *(_named(f"clamp_min({_all(row)} - {_within(row)}, 0)", row.slo)
                                              for row in TIMED)]),
              "Events that broke it (1/s)"),
    *_windows(),
    Recording("slo:budget_left:ratio",
              "1 - slo:errors:ratio_3d / on (model, slo) group_left () plan:error_budget:ratio",
              "Part of the budget left, at the pace of the last three days"),
)  # fmt: skip
"""Windows in names are those at pace 1."""
