"""Pictures of panels as SVG that stands in a page. Imports matplotlib, which takes seconds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from math import ceil, log2
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, MultipleLocator

from infra.plan.dashboards.board import Unit
from lab.report.answers import Answer, Answered
from lab.report.prometheus import Series, Window
from lab.report.values import shown

COLOURS = (
    *("#4269d0", "#efb118", "#3ca951", "#a463f2", "#ff8ab7"),
    *("#6cc5b0", "#9c6b4e", "#97bbf5", "#ff725c", "#9498a0"),
)
"""Colours of lines, in order; they begin again after the last."""

LIMIT, GOOD, BAD = "#6b6b6b", "#3ca951", "#b00020"
"""Colours of limits, and of good and bad times."""

PAGE_POINTS = 960.0
"""Width of a page of 24 columns (points); four thirds of it are its pixels."""

HEIGHT_POINTS = 132.0
"""Height of lines (points)."""

BAR_POINTS = 16.0
"""Height of one thing among states (points)."""

_LOOK: dict[Any, Any] = {"svg.fonttype": "none", "font.size": 7.5, "font.family": "sans-serif", "path.simplify": True}
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_ID = re.compile(r' id="([^"]+)"')


def picture(found: Answered, window: Window, name: str) -> str:
    """Draw a panel of lines or of states.

    Args:
        name: of the panel in the page; keeps what it defines apart from other pictures.
    """
    with mpl.rc_context({**_LOOK, "svg.hashsalt": name}):
        figure = Figure()
        draw = _states if found.panel.kind == "states" else _lines
        _time(draw(figure, found, window), window)
        out = StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    return _bare(out.getvalue())


def _lines(figure: Figure, found: Answered, window: Window) -> Axes:
    axes = _axes(figure, found.panel.width, HEIGHT_POINTS, left=40.0)
    for (_, colour), (answer, series) in zip(coloured(found), _each(found), strict=True):
        style = {"linestyle": (0, (4, 3)), "linewidth": 1.0} if answer.query.is_limit else {"linewidth": 1.3}
        times, values = _with_gaps(series, window.step)
        # A point alone between two gaps has no line.
        marker = "." if len(series.points) == 1 else None
        axes.plot(times, values, color=colour, marker=marker, **style)
    values = [value for _, series in _each(found) for _, value in series.points]
    if min(values) >= 0:
        # A line at nothing would else have an axis of thousandths.
        axes.set_ylim(0, max(values) * 1.1 or 1)
    _values(axes, found.panel.unit, max(values))
    return axes


def _states(figure: Figure, found: Answered, window: Window) -> Axes:
    """A bar for each thing: when it was well, when not; white where nobody could tell."""
    rows = [(label, answer, series) for answer in found.answers for label, series in answer.names()]
    longest = max(len(label) for label, _, _ in rows)
    axes = _axes(figure, found.panel.width, BAR_POINTS * len(rows) + 24, left=4.6 * longest + 10)
    for place, (_, answer, series) in enumerate(rows):
        for is_bad in (False, True):
            spans = list(_spans(answer, series, window.step, is_bad=is_bad))
            axes.broken_barh(spans, (place - 0.36, 0.72), color=BAD if is_bad else GOOD, linewidth=0)
    axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    return axes


def coloured(found: Answered) -> Iterator[tuple[str, str]]:
    """Name and colour of each line, limits in grey."""
    place = 0
    for answer in found.answers:
        for name, _ in answer.names():
            if answer.query.is_limit:
                yield name, LIMIT
            else:
                yield name, COLOURS[place % len(COLOURS)]
                place += 1


def _each(found: Answered) -> Iterator[tuple[Answer, Series]]:
    return ((answer, series) for answer in found.answers for series in answer.series)


def _axes(figure: Figure, columns: int, height: float, *, left: float) -> Axes:
    width = PAGE_POINTS * columns / 24 - 24
    figure.set_size_inches(width / 72, height / 72)
    axes = figure.add_axes((left / width, 16 / height, 1 - (left + 8) / width, 1 - 22 / height))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#bbb")
    axes.grid(visible=True, axis="y", color="#e8e8e8", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(colors="#555", length=2, width=0.6)
    axes.patch.set_visible(False)
    figure.patch.set_visible(False)
    return axes


def _values(axes: Axes, unit: Unit, largest: float) -> None:
    if unit in ("bytes", "bytes/s") and largest > 0:
        axes.yaxis.set_major_locator(MultipleLocator(2 ** ceil(log2(largest / 4))))
    else:
        axes.yaxis.set_major_locator(MaxNLocator(nbins=4, integer=unit == "count", min_n_ticks=2))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: shown(value, unit).replace(" tokens/s", "/s")))
    axes.tick_params(axis="y", length=0)


def _time(axes: Axes, window: Window) -> None:
    axes.set_xlim(window.start, window.end)
    ticks = [window.start + (window.end - window.start) * part / 4 for part in range(5)]
    axes.set_xticks(ticks, [f"{datetime.fromtimestamp(tick, UTC):%H:%M}" for tick in ticks])
    axes.get_xticklabels()[0].set_horizontalalignment("left")
    axes.get_xticklabels()[-1].set_horizontalalignment("right")


def _bare(svg: str) -> str:
    """Without what only a file of its own needs, and without names that nothing refers to."""
    body = _METADATA.sub("", svg[svg.index("<svg") :])
    return _ID.sub(lambda found: found[0] if f"#{found[1]}" in body else "", body)


def _with_gaps(series: Series, step: int) -> tuple[list[float], list[float]]:
    """Times and values, broken where points are missing."""
    times, values, before = [], [], None
    for at, value in series.points:
        if before is not None and at - before > 1.5 * step:
            times.append(before + step)
            values.append(float("nan"))
        times.append(at)
        values.append(value)
        before = at
    return times, values


def _spans(answer: Answer, series: Series, step: int, *, is_bad: bool) -> Iterator[tuple[float, float]]:
    """Begin and length of each time in which it was so."""
    begun = ended = None
    for at, value in series.points:
        if answer.query.is_bad(value) is not is_bad:
            continue
        if begun is not None and ended is not None and at - ended < 0.5 * step:
            ended = at + step
            continue
        if begun is not None and ended is not None:
            yield begun, ended - begun
        begun, ended = at, at + step
    if begun is not None and ended is not None:
        yield begun, ended - begun
