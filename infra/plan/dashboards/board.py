"""What a dashboard is: rows of panels, each with its queries, its unit and what it takes to have data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["lines", "stat", "table", "states"]
"""Lines over time · one number now · one line per thing now · good and bad times of each thing."""

Unit = Literal[
    "count", "ratio", "seconds", "days", "requests/s", "tokens/s", "1/s", "bytes", "bytes/s", "°C", "W", "USD", "bool",
    "code",
]  # fmt: skip
"""Words of the metric catalogue; ratios are from 0 to 1 and are shown in per cent."""

WIDTHS: Mapping[Kind, int] = {"lines": 8, "stat": 4, "table": 24, "states": 12}
"""Usual width of a panel, in columns of 24."""

COLUMNS = 24
"""Columns of a page. Source: Grafana's grid."""

_VARIABLE = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class Query:
    """One expression of a panel; ``$pool`` and the like stand for what the reader chose."""

    expr: str
    name: str
    """Name of its lines, with ``{{label}}`` for the value of a label; heading of its column in a table."""
    unit: Unit | None = None
    """Where it is not that of the panel."""
    bad_above: float | None = None
    """Red from the first value above it."""
    bad_below: float | None = None
    """Red from the first value below it."""
    is_limit: bool = False
    """A promise or a plan that the others are held against; dashed."""

    def is_bad(self, value: float) -> bool:
        """Whether a value is to be red."""
        above = self.bad_above is not None and value > self.bad_above
        return above or (self.bad_below is not None and value < self.bad_below)

    def filled(self, values: Mapping[str, str]) -> str:
        """The expression with a value for each variable.

        Raises:
            KeyError: it names a variable without a value.
        """
        return _VARIABLE.sub(lambda found: values[found[1]], self.expr)


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture, number or table."""

    title: str
    kind: Kind
    unit: Unit
    says: str
    """What to read from it; one or two sentences."""
    queries: tuple[Query, ...]
    by: tuple[str, ...] = ()
    """Labels that name a line of a table."""
    needs_hardware: str = ""
    """What it takes to have data, where a lab has none; empty: a lab shows it."""
    span: int = 0
    """Width in columns; 0: as usual for its kind."""

    @property
    def width(self) -> int:
        """Columns it takes."""
        return self.span or WIDTHS[self.kind]

    def unit_of(self, query: Query) -> Unit:
        """Unit of the values of one of its queries."""
        return query.unit or self.unit


@dataclass(frozen=True, slots=True)
class Row:
    """Panels that belong together, under one heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """What a reader can narrow a dashboard down to; all of it at first."""

    name: str
    label: str
    source: str
    """Series that has every value under a label of the variable's name."""


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard."""

    name: str
    """Last part of its address and name of its file."""
    title: str
    says: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    def panels(self) -> Iterator[Panel]:
        """All panels, from the top."""
        return (panel for row in self.rows for panel in row.panels)


POOL = Variable("pool", "Pool", "plan:hosts:count")
HOST = Variable("host", "Host", 'host:info{pool=~"$pool"}')
MODEL = Variable("model", "Model", "plan:replicas:count")
TENANT = Variable("tenant", "Tenant", "tenant:requests:rate")
"""Where the values come from: the plan where it knows them, so that what is down can be chosen too."""

ALL = ".*"
"""What a variable stands for while nothing is chosen; it also matches series without the label."""


def everything(rate_interval: str) -> dict[str, str]:
    """Values of all variables when nothing is chosen.

    Args:
        rate_interval: window for ``rate``, such as ``20s``.
    """
    chosen = {variable.name: ALL for variable in (POOL, HOST, MODEL, TENANT)}
    return {**chosen, "__rate_interval": rate_interval}
