"""Dashboards as Grafana reads them. Imports Grafana's SDK, so import this module where it is needed only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from math import ceil
from typing import Any

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard as model

from infra.plan.dashboards.board import ALL, COLUMNS, Board, Panel, Row, Variable
from infra.plan.dashboards.panels import SOURCE, drawn
from infra.plan.facts import ObservabilityPlan

TAG = "railwright"
"""What all of them are tagged with, so that each links to the others."""

SHOWN = timedelta(hours=3)
"""Time that a dashboard shows at first, at pace 1: room for a fault, its alerts and its end."""

HEIGHTS = {"lines": 8, "stat": 4, "table": 9, "states": 8}
"""Height of a panel by its kind (rows of Grafana's grid)."""

COLOURS = {"page": "red", "ticket": "orange"}
"""Colour of the marks of alerts, by severity."""


def rendered(board: Board, seen: ObservabilityPlan) -> dict[str, Any]:
    """One dashboard as Grafana imports it; the same description gives the same text."""
    shown = ceil(SHOWN.total_seconds() * seen.pace / 60)
    made = (
        build.Dashboard(board.title)
        .uid(f"{TAG}-{board.name}")
        .description(board.says)
        .tags([TAG])
        .time(f"now-{shown}m", "now")
        .refresh(f"{seen.scrape_interval}s")
        .timezone("browser")
        .tooltip(model.DashboardCursorSync.CROSSHAIR)
        .readonly()
        .link(_others())
        .with_variable(build.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
    )
    for variable in board.variables:
        made.with_variable(_variable(variable))
    for severity, colour in COLOURS.items():
        made.annotation(_marks(severity, colour))
    _place(made, board, seen.scrape_interval)
    plain: dict[str, Any] = json.loads(JSONEncoder().encode(made.build()))
    return plain


def layout(row: Row) -> Iterator[tuple[Panel, int, int]]:
    """Place each panel of a row: the panel, its column, and its distance from the top of the row."""
    across, down, tallest = 0, 0, 0
    for panel in row.panels:
        if across + panel.width > COLUMNS:
            across, down, tallest = 0, down + tallest, 0
        yield panel, across, down
        across, tallest = across + panel.width, max(tallest, HEIGHTS[panel.kind])


def _place(made: build.Dashboard, board: Board, interval: int) -> None:
    top, number = 0, 0
    for row in board.rows:
        number += 1
        made.with_row(build.Row(row.title).id(number).grid_pos(model.GridPos(h=1, w=COLUMNS, x=0, y=top)))
        top, bottom = top + 1, top + 1
        for panel, across, down in layout(row):
            number += 1
            height = HEIGHTS[panel.kind]
            place = model.GridPos(h=height, w=panel.width, x=across, y=top + down)
            made.with_panel(drawn(panel, interval).id(number).grid_pos(place))
            bottom = max(bottom, top + down + height)
        top = bottom


def _variable(variable: Variable) -> build.QueryVariable:
    everything = model.VariableOption(selected=True, text="All", value="$__all")
    return (
        build.QueryVariable(variable.name)
        .label(variable.label)
        .datasource(SOURCE)
        .query(f"label_values({variable.source}, {variable.name})")
        .refresh(model.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(model.VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(ALL)
        .current(everything)
    )


def _marks(severity: str, colour: str) -> build.AnnotationQuery:
    expr = f'max by (alertname, level) (ALERTS{{alertstate="firing",severity="{severity}"}})'
    return build.AnnotationQuery().name(f"Alerts: {severity}").datasource(SOURCE).expr(expr).icon_color(colour)


def _others() -> build.DashboardLink:
    link = build.DashboardLink("Railwright").type(model.DashboardLinkType.DASHBOARDS).tags([TAG])
    return link.as_dropdown(True).keep_time(True).include_vars(True)
