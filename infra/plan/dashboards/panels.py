"""Panels as Grafana reads them: one function for each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import ascii_uppercase
from typing import Any

from grafana_foundation_sdk.builders import common, prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models import dashboard as model
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from infra.plan.dashboards.board import Kind, Panel, Query, Unit

SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The Prometheus that the reader chose."""

UNITS: Mapping[Unit, str] = {
    "count": "short", "ratio": "percentunit", "seconds": "s", "days": "d", "requests/s": "reqps",
    "tokens/s": "suffix: tokens/s", "1/s": "suffix: /s", "bytes": "bytes", "bytes/s": "binBps", "°C": "celsius",
    "W": "watt", "USD": "currencyUSD", "bool": "bool_yes_no", "code": "none",
}  # fmt: skip
"""Our words → Grafana's. Source: grafana_foundation_sdk, models/units.py; ``suffix:`` is Grafana's way for others."""

GOOD, BAD, MUTED = "green", "red", "#8a8a8a"
"""Colours by Grafana's names, and that of limits."""

Drawn = timeseries.Panel | stat.Panel | table.Panel | statetimeline.Panel


def drawn(panel: Panel, interval: int) -> Drawn:
    """A panel with its queries, title and unit; number and place are its dashboard's.

    Args:
        interval: seconds between two scrapes; no two points lie closer.
    """
    made = _KINDS[panel.kind](panel)
    for place, query in enumerate(panel.queries):
        made.with_target(_target(panel, query, ascii_uppercase[place], interval))
    none = f"no data (needs {panel.needs_hardware})" if panel.needs_hardware else "no data"
    says = f"{panel.says} Needs {panel.needs_hardware}." if panel.needs_hardware else panel.says
    return made.title(panel.title).description(says).datasource(SOURCE).unit(UNITS[panel.unit]).no_value(none)


def _target(panel: Panel, query: Query, ref: str, interval: int) -> prometheus.Dataquery:
    made = prometheus.Dataquery().ref_id(ref).expr(query.expr).legend_format(query.name).interval(f"{interval}s")
    if panel.kind == "table":
        return made.instant().format(PromQueryFormat.TABLE)
    return made.instant() if panel.kind == "stat" else made.range()


def _lines(panel: Panel) -> timeseries.Panel:
    legend = common.VizLegendOptions().show_legend(True).display_mode(shapes.LegendDisplayMode.LIST)
    tooltip = common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.MULTI).sort(shapes.SortOrder.DESCENDING)
    made = (
        timeseries.Panel()
        .legend(legend.placement(shapes.LegendPlacement.BOTTOM))
        .tooltip(tooltip)
        .line_width(1.5)
        .fill_opacity(6)
        .show_points(shapes.VisibilityMode.NEVER)
        .axis_soft_min(0)
    )
    for place, query in enumerate(panel.queries):
        if query.is_limit:
            made.override_by_query(ascii_uppercase[place], _dashed())
    return made


def _stat(panel: Panel) -> stat.Panel:
    made = stat.Panel().color_mode(shapes.BigValueColorMode.VALUE).graph_mode(shapes.BigValueGraphMode.NONE)
    made.reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    return made.thresholds(_thresholds(panel.queries[0], plain="text"))


def _states(panel: Panel) -> statetimeline.Panel:
    legend = common.VizLegendOptions().show_legend(False).display_mode(shapes.LegendDisplayMode.HIDDEN)
    made = statetimeline.Panel().show_value(shapes.VisibilityMode.NEVER).merge_values(True).row_height(0.8)
    made.legend(legend.placement(shapes.LegendPlacement.BOTTOM)).fill_opacity(75)
    scheme = build.FieldColor().mode(model.FieldColorModeId.THRESHOLDS)
    return made.thresholds(_thresholds(panel.queries[0], plain=GOOD)).color_scheme(scheme)


def _table(panel: Panel) -> table.Panel:
    """One line per thing: each query is a column, joined by the labels that name the thing."""
    headings = {f"Value #{ascii_uppercase[place]}": query.name for place, query in enumerate(panel.queries)}
    if len(panel.queries) == 1:
        headings["Value"] = panel.queries[0].name
    order = {label: place for place, label in enumerate((*panel.by, *headings))}
    shown = {
        "includeByName": dict.fromkeys(order, True),
        "indexByName": order,
        "renameByName": headings,
        "excludeByName": {"Time": True, "__name__": True},
    }
    made = table.Panel().cell_height(shapes.TableCellHeight.SM)
    made.transformations(
        [
            model.DataTransformerConfig(id_val="merge", options={}),
            model.DataTransformerConfig(id_val="organize", options=shown),
        ]
    )
    for query in panel.queries:
        made.override_by_name(query.name, _cell(panel, query))
    return made


def _cell(panel: Panel, query: Query) -> list[model.DynamicConfigValue]:
    values: list[tuple[str, Any]] = [("unit", UNITS[panel.unit_of(query)])]
    if query.bad_above is not None or query.bad_below is not None:
        values += [
            ("thresholds", _thresholds(query, plain="text").build()),
            ("custom.cellOptions", {"type": "color-text"}),
        ]
    return [model.DynamicConfigValue(key, value) for key, value in values]


def _dashed() -> list[model.DynamicConfigValue]:
    values: list[tuple[str, Any]] = [
        ("custom.lineStyle", {"fill": "dash", "dash": [6, 6]}),
        ("custom.fillOpacity", 0),
        ("color", {"mode": "fixed", "fixedColor": MUTED}),
    ]
    return [model.DynamicConfigValue(key, value) for key, value in values]


def _thresholds(query: Query, *, plain: str) -> build.ThresholdsConfig:
    """Colours by value; Grafana's step holds from its value on, so one just above starts past the limit."""
    if query.bad_below is not None:
        steps = [model.Threshold(None, BAD), model.Threshold(query.bad_below, plain)]
    elif query.bad_above is not None:
        steps = [model.Threshold(None, plain), model.Threshold(_past(query.bad_above), BAD)]
    else:
        steps = [model.Threshold(None, plain)]
    return build.ThresholdsConfig().mode(model.ThresholdsMode.ABSOLUTE).steps(steps)


def _past(value: float) -> float:
    return value + max(abs(value), 1) * 1e-6


_KINDS: Mapping[Kind, Callable[[Panel], Drawn]] = {"lines": _lines, "stat": _stat, "table": _table, "states": _states}
