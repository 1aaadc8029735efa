"""Questions to Prometheus; what has no data is unknown, never zero."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from infra.errors import ConfigError, Unknown
from runbooks.lib.endpoint import Endpoint, decoded
from runbooks.lib.kubernetes.views import instant
from runbooks.lib.promql import Value, fill


@dataclass(frozen=True, slots=True)
class Sample:
    """One series at one moment."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """One series over a time."""

    labels: Mapping[str, str]
    points: tuple[tuple[datetime, float], ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert that Prometheus holds."""

    name: str
    state: str
    """``pending`` or ``firing``."""
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    since: datetime
    value: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One recording or alerting rule as Prometheus last evaluated it."""

    name: str
    group: str
    type: str
    expression: str
    health: str
    """``ok``, ``err`` or ``unknown``."""
    error: str


@dataclass(frozen=True, slots=True)
class ScrapeTarget:
    """One target that Prometheus scrapes."""

    job: str
    instance: str
    health: str
    """``up``, ``down`` or ``unknown``."""
    error: str
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Prometheus:
    """One Prometheus server."""

    endpoint: Endpoint

    def value(self, expression: str, *, unit: str = "", **names: Value) -> float:
        """The one number that an expression comes to now.

        Args:
            unit: what is counted, for the sentence when it is not known.
            names: values of each ``$name`` in the expression.
        Raises:
            Unknown: there is no data, more than one series, or no answer.
            ConfigError: the expression is wrong.
        """
        text = fill(expression, names)
        found = self._instant(text)
        if len(found) != 1 or math.isnan(found[0].value):
            what = f"{len(found)} series" if len(found) > 1 else "no data"
            sought = f" ({unit})" if unit else ""
            raise Unknown(f"{text}{sought} — {what} — one number is wanted — see that its metrics are scraped")
        return found[0].value

    def vector(self, expression: str, **names: Value) -> list[Sample]:
        """All series of an expression now; those without a number are left out.

        Raises:
            Unknown: there is none, or no answer.
        """
        text = fill(expression, names)
        found = [sample for sample in self._instant(text) if not math.isnan(sample.value)]
        if not found:
            raise Unknown(f"{text} — no data — one series or more is wanted — see that its metrics are scraped")
        return found

    def samples(self, expression: str, *, needs: Sequence[str], **names: Value) -> list[Sample]:
        """All series of an expression where none is an answer too, such as those above a limit.

        Args:
            needs: metrics without which "none" would mean nothing.
        Raises:
            Unknown: one of those metrics has no series, or there is no answer.
        """
        self.require(*needs)
        return [sample for sample in self._instant(fill(expression, names)) if not math.isnan(sample.value)]

    def range(self, expression: str, *, within: timedelta, step: timedelta, **names: Value) -> list[Series]:
        """All series of an expression over the time up to now.

        Raises:
            Unknown: there is none, or no answer.
        """
        text, end = fill(expression, names), datetime.now(UTC)
        data = self._query(
            "/api/v1/query_range",
            query=text,
            start=f"{(end - within).timestamp():.3f}",
            end=f"{end.timestamp():.3f}",
            step=f"{step.total_seconds():g}",
        )
        found = [Series(entry["metric"], _points(entry["values"])) for entry in data["result"]]
        if not any(series.points for series in found):
            raise Unknown(f"{text} — no data within {within} — see that its metrics are scraped")
        return found

    def stored(self, selector: str, *, within: timedelta, **names: Value) -> list[Series]:
        """All samples of the time up to now as they were written, none included; ``range`` would fill gaps.

        Raises:
            Unknown: there is no answer.
        """
        data = self._query("/api/v1/query", query=fill(f"{selector}[{math.ceil(within.total_seconds())}s]", names))
        return [Series(entry["metric"], _points(entry["values"])) for entry in data["result"]]

    def series_exist(self, metric: str) -> bool:
        """Whether any series bears this name now."""
        return bool(self._instant(fill('count({__name__="$metric"})', {"metric": metric})))

    def require(self, *metrics: str) -> None:
        """See that each metric has a series.

        Raises:
            Unknown: some have none.
        """
        if missing := [metric for metric in metrics if not self.series_exist(metric)]:
            raise Unknown(f"metrics {', '.join(missing)} — have no series — see that their targets are up")

    def alerts(self) -> list[Alert]:
        """Alerts that are pending or firing."""
        return [
            Alert(
                entry["labels"]["alertname"], entry["state"], entry["labels"], entry["annotations"],
                instant(entry["activeAt"]) or datetime.now(UTC), str(entry.get("value", "")),
            )
            for entry in self._query("/api/v1/alerts")["alerts"]
        ]  # fmt: skip

    def firing(self, name: str, **labels: str) -> list[Alert]:
        """Firing alerts of one name that carry these labels.

        Raises:
            Unknown: no rule makes such an alert, so that its silence says nothing.
        """
        found = [alert for alert in self.alerts() if alert.name == name and alert.state == "firing"]
        if not found and name not in {rule.name for rule in self.rules() if rule.type == "alerting"}:
            raise Unknown(f"alert {name!r} — no rule of Prometheus makes it — see that its rules are loaded")
        return [alert for alert in found if labels.items() <= dict(alert.labels).items()]

    def rules(self) -> list[Rule]:
        """All rules."""
        return [
            Rule(
                entry["name"], group["name"], entry["type"], entry["query"],
                entry["health"], entry.get("lastError", ""),
            )
            for group in self._query("/api/v1/rules")["groups"]
            for entry in group["rules"]
        ]  # fmt: skip

    def targets(self) -> list[ScrapeTarget]:
        """All targets that are scraped."""
        return [
            ScrapeTarget(
                entry["labels"].get("job", ""), entry["labels"].get("instance", ""), entry["health"],
                entry.get("lastError", ""), entry["labels"],
            )
            for entry in self._query("/api/v1/targets", state="active")["activeTargets"]
        ]  # fmt: skip

    def is_ready(self) -> bool:
        """Whether it answers and has loaded what it stores."""
        try:
            return self.endpoint.fetch("GET", "/-/ready")[0] == 200
        except Unknown:
            return False

    def _instant(self, text: str) -> list[Sample]:
        data = self._query("/api/v1/query", query=text)
        if data["resultType"] in ("scalar", "string"):
            return [Sample({}, float(data["result"][1]))]
        return [Sample(entry["metric"], float(entry["value"][1])) for entry in data["result"] if "value" in entry]

    def _query(self, path: str, **params: str) -> Any:
        status, text = self.endpoint.fetch("GET", path, params=params)
        said = decoded(self.endpoint.who, path, text)
        if status == 200 and said.get("status") == "success":
            return said["data"]
        reason = said.get("error") or said.get("message") or text[:160]
        if said.get("errorType") == "bad_data":
            raise ConfigError(f"expression {params.get('query', path)!r} — {reason} — correct it")
        raise Unknown(f"{self.endpoint.who} — answers {status} at {path}: {reason} — see that it runs")


def _points(values: Sequence[Sequence[Any]]) -> tuple[tuple[datetime, float], ...]:
    read = ((datetime.fromtimestamp(at, UTC), float(value)) for at, value in values)
    return tuple((at, value) for at, value in read if not math.isnan(value))
