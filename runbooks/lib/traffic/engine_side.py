"""The first token as the engine itself measured it, beside what the client saw."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infra.errors import Unknown

if TYPE_CHECKING:
    from runbooks.lib.traffic.report import Report

HISTOGRAM = "vllm:time_to_first_token_seconds"
"""The engine's histogram of the time to the first token. Source: vLLM 0.32, v1/metrics/loggers."""

PATIENCE = 90.0
"""Longest wait for Prometheus to scrape the engine after the last answer (s); scrapes are 5 to 60 s apart."""

Query = Callable[[str, float], list[tuple[dict[str, str], float]]]
"""Asks Prometheus for a vector at a moment (s since 1970)."""


@dataclass(frozen=True, slots=True)
class EngineSide:
    """One model's first tokens during a run, by the engine's histogram (s)."""

    model: str
    requests: float
    """Requests whose first token the engine counted; those of others too."""
    p50: float
    p95: float
    """Interpolated within ``p95_bucket``."""
    p95_bucket: tuple[float, float]
    """Edges between which the true P95 lies."""
    client_p50: float
    client_p95: float

    def __str__(self) -> str:
        low, high = self.p95_bucket
        return (
            f"{self.model}: first token P95 {self.client_p95:.3f} s at the client; at the engine {self.p95:.3f} s, "
            f"surely within {low:g} to {high:g} s ({self.requests:.0f} requests)"
        )


def engine_sides(report: Report, query: Query, sleep: Callable[[float], None] = time.sleep) -> tuple[EngineSide, ...]:
    """Ask for each model that streamed.

    Raises:
        Unknown: Prometheus does not answer, has no such series, or does not scrape the engine in time.
    """
    found = []
    for model in sorted({group.model for group in report.groups}):
        seen = report.of_model(model).ttft
        if seen is None:
            continue
        at = _scraped(model, report.begun + report.seconds, query, sleep)
        buckets = _buckets(model, report.begun, at, query)
        low, high = _bucket(buckets, 0.95)
        p50, p95 = _quantile(buckets, 0.5), _quantile(buckets, 0.95)
        found.append(EngineSide(model, buckets[-1][1], p50, p95, (low, high), seen.p50, seen.p95))
    return tuple(found)


def prometheus(url: str) -> Query:
    """Ask a Prometheus over HTTP."""

    def query(expression: str, at: float) -> list[tuple[dict[str, str], float]]:
        import httpx

        try:
            with httpx.Client(trust_env=False, timeout=10) as client:
                answer = client.get(
                    f"{url.rstrip('/')}/api/v1/query", params={"query": expression, "time": f"{at:.3f}"}
                )
            data = answer.raise_for_status().json()["data"]["result"]
            return [(row["metric"], float(row["value"][1])) for row in data]
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise Unknown(f"Prometheus at {url!r} — does not answer ({error}) — check the address") from error

    return query


def _scraped(model: str, end: float, query: Query, sleep: Callable[[float], None]) -> float:
    """Wait for a scrape after the end; when it was."""
    waited = 0.0
    while waited <= PATIENCE:
        rows = query(f"max(timestamp({HISTOGRAM}_count{_of(model)}))", end + waited)
        if rows and rows[0][1] >= end:
            return rows[0][1]
        sleep(1.0)
        waited += 1.0
    raise Unknown(
        f"{HISTOGRAM} of {model!r} — Prometheus has no value from after the run within {PATIENCE:g} s — "
        "check that it scrapes the engine"
    )


def _buckets(model: str, start: float, end: float, query: Query) -> list[tuple[float, float]]:
    """How many first tokens came within each edge during the run: counters at its end less those at its start."""
    total = f"sum by (le) ({HISTOGRAM}_bucket{_of(model)})"
    before = {labels["le"]: value for labels, value in query(total, start)}
    after = query(total, end)
    counts = sorted((float(labels["le"]), value - before.get(labels["le"], 0.0)) for labels, value in after)
    if not counts or counts[-1][1] <= 0 or any(count < 0 for _, count in counts):
        raise Unknown(f"{HISTOGRAM} of {model!r} — did not grow over the run, or an engine started anew — run it again")
    return counts


def _bucket(counts: list[tuple[float, float]], share: float) -> tuple[float, float]:
    """Edges of the bucket that a quantile falls into."""
    low = 0.0
    for edge, count in counts:
        if count >= share * counts[-1][1]:
            return low, edge
        low = edge
    return low, math.inf


def _quantile(counts: list[tuple[float, float]], share: float) -> float:
    """Interpolate within the bucket, as PromQL's histogram_quantile does."""
    low, high = _bucket(counts, share)
    if math.isinf(high):
        return low
    below = next((count for edge, count in counts if edge == low), 0.0)
    inside = next(count for edge, count in counts if edge == high) - below
    return low + (high - low) * (share * counts[-1][1] - below) / inside


def _of(model: str) -> str:
    return "{model_name=" + _text(model) + "}"


def _text(value: Any) -> str:
    """Quote for PromQL."""
    return '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
