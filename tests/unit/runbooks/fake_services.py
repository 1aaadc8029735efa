"""Prometheus, Alertmanager, Pulumi's history and Envoy's counters in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from infra.errors import Unknown
from infra.plan.facts import Plan
from runbooks.lib import drift
from runbooks.lib.alertmanager import Silence
from runbooks.lib.prometheus import Alert, Sample, Series

if TYPE_CHECKING:
    from tests.unit.runbooks.fakes import Cluster


@dataclass
class Prometheus:
    """Answers by a part of the expression, the first that fits; nothing fits: no data."""

    answers: dict[str, Any] = field(default_factory=dict)
    firing_now: list[Alert] = field(default_factory=list)
    is_down: bool = False

    def samples(self, expression: str, *, needs: Sequence[str], **names: Any) -> list[Sample]:
        """Samples, none included."""
        if self.is_down:
            raise Unknown("Prometheus — gives no answer — see that it runs")
        for part, answer in self.answers.items():
            if part in expression:
                return [Sample({}, answer)] if isinstance(answer, int | float) else list(answer)
        return []

    def vector(self, expression: str, **names: Any) -> list[Sample]:
        """Samples, at least one."""
        found = self.samples(expression, needs=(), **names)
        if not found:
            raise Unknown(f"{expression} — no data")
        return found

    def value(self, expression: str, *, unit: str = "", **names: Any) -> float:
        return self.vector(expression, **names)[0].value

    def range(self, expression: str, **names: Any) -> list[Series]:
        raise Unknown(f"{expression} — no data")

    def alerts(self) -> list[Alert]:
        return self.firing_now


@dataclass
class Alertmanager:
    """Silences in memory."""

    cluster: Cluster
    made: list[Silence] = field(default_factory=list)

    def silence(self, matchers: Mapping[str, str], *, lasts: timedelta, comment: str) -> str:
        """Make one."""
        if self.cluster.note(f"silence {dict(matchers)} for {lasts}"):
            now = datetime.now(UTC)
            self.made.append(Silence(f"s{len(self.made)}", "me", comment, matchers, now, now + lasts, "active"))
        return "s"

    def own(self) -> list[Silence]:
        return self.made

    def expire(self, silence_id: str) -> None:
        self.cluster.note(f"end silence {silence_id}")


@dataclass
class History:
    """A Pulumi that applied the plan, and nothing before it."""

    plan: Plan

    def updates(self) -> list[Any]:
        return []

    def applied(self, kind: str, namespace: str, name: str) -> Mapping[str, Any] | None:
        """What the last update applied: the plan's own."""
        return drift.deployment(self.plan, namespace, name)

    def plans(self) -> list[Any]:
        return []


@dataclass
class Gateway:
    """Envoy's counters."""

    there: dict[str, list[dict[str, float]]]

    def stats(self, pod: str, only: str = "") -> Mapping[str, float]:
        """The next look at them."""
        if pod not in self.there:
            return {}
        if not self.there[pod]:
            raise Unknown(f"gateway pod {pod} — Envoy's administration does not answer")
        return self.there[pod].pop(0) if len(self.there[pod]) > 1 else self.there[pod][0]
