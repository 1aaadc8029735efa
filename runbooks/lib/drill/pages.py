"""Who was woken between a fault and the end of its drill, besides by what the drill waits for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from infra.errors import Unknown
from runbooks.lib import clients
from runbooks.lib.drill.health import PAST

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.drill.model import Drill
    from runbooks.lib.prometheus import Prometheus

BLIND = timedelta(minutes=1)
"""Longest time without a sample of Watchdog, which always fires, that still counts as watched."""


@dataclass(frozen=True, slots=True)
class Page:
    """One alert that would wake someone, from when it fired first."""

    name: str
    whom: str
    """Model, pod or host that it names."""
    at: datetime


@dataclass(frozen=True, slots=True)
class Watch:
    """What Prometheus remembers of a time."""

    pages: tuple[Page, ...]
    blind: timedelta
    """Longest time of which it remembers nothing."""


def sent(prometheus: Prometheus, since: datetime) -> Watch:
    """Pages that fired at any moment from then to now, those that have resolved included.

    Raises:
        Unknown: Prometheus does not answer.
    """
    now, begin = datetime.now(UTC), since - BLIND
    firing = prometheus.stored('ALERTS{alertstate="firing"}', within=now - begin)
    watched = sorted(at for one in firing if one.labels["alertname"] == "Watchdog" for at, _ in one.points)
    pages = [
        Page(one.labels["alertname"], _whom(one.labels), min(after))
        for one in firing
        if one.labels.get("severity") == "page" and (after := [at for at, _ in one.points if at >= since])
    ]
    # A minute before the fault belongs to it, so that a memory which begins soon after it is seen to be short.
    gaps = [later - earlier for earlier, later in pairwise([begin, *watched, now])]
    return Watch(tuple(sorted(pages, key=lambda page: (page.at, page.name, page.whom))), max(gaps))


def unasked(ctx: Context, drill: Drill) -> Iterator[str]:
    """One sentence for each page that the drill neither waits for nor may bring; all of them go into its timeline.

    Raises:
        Unknown: Prometheus does not remember the time of the fault, and the drill does not say why.
    """
    c = clients.of(ctx)
    watch = sent(c.prometheus, datetime.fromtimestamp(drill.broken_at, UTC))
    if watch.blind > BLIND:
        said = f"Prometheus remembers nothing of {watch.blind.total_seconds():.0f} s"
        if not drill.forgets:
            raise Unknown(f"pages since the fault — {said} — it must have run all the time — see why it did not")
        drill.timeline.add("page", f"{said}, pages of that time are not known: {drill.forgets}")
    awaited = drill.expects.alerts if drill.expects else ()
    # In the lab the drill before has spent the budget, and its pages come and go with the requests of this one.
    past = dict.fromkeys(PAST if c.plan.target.name == "lab" else (), "it tells of what was, drills before included")
    may = {**past, **drill.may}
    for page in watch.pages:
        if page.name not in awaited:
            why = may.get(page.name)
            drill.timeline.add("page", f"{page.name} {page.whom}: {why or 'unasked'}", at=page.at.timestamp())
            if why is None:
                yield f"page {page.name} {page.whom} fired {page.at:%H:%M:%S} UTC, which this fault must not bring"


def _whom(labels: Mapping[str, str]) -> str:
    return " ".join(labels[key] for key in ("model", "slo", "pod", "host", "device", "leaf", "job") if key in labels)
