"""What Prometheus says to each panel of the dashboards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from infra.plan.dashboards.board import Board, Panel, Query, everything
from lab.report.prometheus import Prometheus, Series, Window

_LABEL = re.compile(r"{{\s*(\w+)\s*}}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one query."""

    query: Query
    series: tuple[Series, ...]

    def names(self) -> Iterator[tuple[str, Series]]:
        """Each series with its name in the legend."""
        return ((_named(self.query.name, one), one) for one in self.series)


def _named(template: str, series: Series) -> str:
    return _LABEL.sub(lambda found: series.labels.get(found[1], "–"), template)


@dataclass(frozen=True, slots=True)
class Answered:
    """A panel with what came back."""

    panel: Panel
    answers: tuple[Answer, ...]

    @property
    def has_data(self) -> bool:
        """Whether anything came back but limits, which are there without anything to hold against them."""
        return any(answer.series for answer in self.answers if not answer.query.is_limit)

    @property
    def without_data(self) -> tuple[str, ...]:
        """Names of the queries that brought nothing, though others did."""
        found = (answer.query.name for answer in self.answers if self.has_data and not answer.series)
        return tuple(_LABEL.sub("", name).strip(" ,") for name in found)


def answered(panel: Panel, prometheus: Prometheus, window: Window, scrape_interval: int) -> Answered:
    """Ask every query of a panel, with nothing narrowed down.

    Args:
        scrape_interval: seconds between two scrapes.
    """
    # As Grafana reckons its $__rate_interval: four scrapes, and no gap between two points.
    values = everything(f"{max(4 * scrape_interval, window.step + scrape_interval)}s")

    def ask(query: Query) -> tuple[Series, ...]:
        expr = query.filled(values)
        return prometheus.now(expr) if panel.kind in ("stat", "table") else prometheus.over(expr, window)

    return Answered(panel, tuple(Answer(query, ask(query)) for query in panel.queries))


def every(board: Board, prometheus: Prometheus, window: Window, scrape_interval: int) -> Iterator[Answered]:
    """All panels of a dashboard, from the top."""
    return (answered(panel, prometheus, window, scrape_interval) for panel in board.panels())
