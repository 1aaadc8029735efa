"""Numbers of a diagnosis in words: from Prometheus, and what has no data is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from infra.errors import Unknown
from runbooks.lib import clients

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.prometheus import Alert
    from runbooks.lib.promql import Value

LOOK_BACK = timedelta(hours=1)
"""How far back the beginning of a fault is sought."""

_POINTS = 120


def optional(ctx: Context, expression: str, **names: Value) -> float | None:
    """A number that may have no series, such as a quantile without requests; None then.

    Raises:
        Unknown: Prometheus does not answer at all.
    """
    prometheus = clients.of(ctx).prometheus
    found = prometheus.samples(expression, needs=("up",), **names)
    return found[0].value if len(found) == 1 else None


def since(ctx: Context, expression: str, **names: Value) -> datetime | None:
    """Since when an expression, a comparison, has been true without a break; None when it is not true now."""
    step = LOOK_BACK / _POINTS
    try:
        series = clients.of(ctx).prometheus.range(expression, within=LOOK_BACK, step=step, **names)
    except Unknown:
        return None
    began: datetime | None = None
    for one in series:
        times = [at for at, _ in one.points]
        if not times or datetime.now(UTC) - times[-1] > 2 * step:
            continue
        first = times[-1]
        for at in reversed(times):
            if first - at > 1.5 * step:
                break
            first = at
        began = min(began or first, first)
    return began


def firing(ctx: Context, names: Iterable[str], **labels: str) -> list[Alert]:
    """Alerts of these names that fire with these labels; labels that are empty are no condition."""
    chosen = {name: value for name, value in labels.items() if value}
    wanted = set(names)
    return [
        alert
        for alert in clients.of(ctx).prometheus.alerts()
        if alert.name in wanted and alert.state == "firing" and chosen.items() <= dict(alert.labels).items()
    ]
