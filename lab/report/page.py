"""The page: every dashboard, panel by panel, in one file that needs no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any

from infra.plan.dashboards.board import Board
from lab.report.answers import Answered
from lab.report.prometheus import Window
from lab.report.style import STYLE
from lab.report.tables import alerts as table_of_alerts
from lab.report.tables import number, table
from lab.report.values import shown

MOST_NAMES = 12
"""Lines that a legend names (count)."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a page is drawn from."""

    prometheus: str
    """Address and version of the server that was asked."""
    window: Window
    alerts: Sequence[Mapping[str, Any]]
    boards: Sequence[tuple[Board, Sequence[Answered]]]

    @property
    def panels(self) -> int:
        """How many there are."""
        return sum(len(found) for _, found in self.boards)

    @property
    def empty(self) -> tuple[str, ...]:
        """Panels without data that a lab should have."""
        return tuple(
            f"{board.title}: {one.panel.title}"
            for board, found in self.boards
            for one in found
            if not one.has_data and not one.panel.needs_hardware
        )


def page(report: Report) -> str:
    """Render the whole page."""
    window = report.window
    minutes = (window.end - window.start) // 60
    at = datetime.fromtimestamp(window.end, UTC)
    firing = sum(alert["state"] == "firing" for alert in report.alerts)
    links = "".join(f'<a href="#{board.name}">{escape(board.title)}</a>' for board, _ in report.boards)
    body = [
        f"<header><h1>Lab report</h1><p>{at:%Y-%m-%d %H:%M:%S} UTC, the last {minutes} minutes, from "
        f"{escape(report.prometheus)}. Times are UTC.</p><nav>{links}</nav></header>",
        f'<section class="board" id="alerts"><h2>Alerts</h2><p class="says">{firing} fire, '
        f"{len(report.alerts) - firing} are about to. Watchdog always fires: it shows that alerts work.</p>",
        table_of_alerts(report.alerts) if report.alerts else '<p class="none">no data</p>',
        "</section>",
        *(part for board, found in report.boards for part in _board(board, found, window)),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>Lab report of {at:%Y-%m-%d %H:%M:%S} UTC</title>'
        f"<style>{STYLE}</style></head><body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _board(board: Board, found: Sequence[Answered], window: Window) -> Iterator[str]:
    yield f'<section class="board" id="{board.name}"><h2>{escape(board.title)}</h2>'
    yield f'<p class="says">{escape(board.says)}</p>'
    rest = iter(enumerate(found))
    for row in board.rows:
        yield f'<h3>{escape(row.title)}</h3><div class="grid">'
        for _ in row.panels:
            place, one = next(rest)
            yield _panel(one, window, f"{board.name}-{place}")
        yield "</div>"
    yield "</section>"


def _panel(found: Answered, window: Window, name: str) -> str:
    panel = found.panel
    head = f"<h4>{escape(panel.title)}</h4><p>{escape(panel.says)}</p>"
    look = f"panel {panel.kind}"
    return (
        f'<article class="{look}" id="{name}" style="grid-column:span {panel.width}">{head}'
        f'<div class="body">{"".join(_body(found, window, name))}</div></article>'
    )


def _body(found: Answered, window: Window, name: str) -> Iterator[str]:
    if not found.has_data:
        needs = found.panel.needs_hardware
        why = f"<p>Needs {escape(needs)}.</p>" if needs else ""
        yield f'<div class="empty"><p class="none">no data{" (needs hardware)" if needs else ""}</p>{why}</div>'
        return
    match found.panel.kind:
        case "stat":
            yield number(found)
        case "table":
            yield table(found)
        case _:
            from lab.report.plots import picture

            yield picture(found, window, name)
            yield _legend(found, window) if found.panel.kind == "lines" else ""
    if found.without_data:
        yield f'<p class="none part">no data: {escape(", ".join(found.without_data))}</p>'


def _legend(found: Answered, window: Window) -> str:
    """Names of the lines with their values now, or a dash when they have ended."""
    from lab.report.plots import coloured

    values = (
        shown(series.last, found.panel.unit_of(answer.query)) if series.reaches(window) else "–"
        for answer in found.answers
        for series in answer.series
    )
    named = list(zip(coloured(found), values, strict=True))
    parts = [
        f'<li><i style="background:{colour}"></i>{escape(name)} <b>{escape(value)}</b></li>'
        for (name, colour), value in named[:MOST_NAMES]
    ]
    if len(named) > MOST_NAMES:
        parts.append(f'<li class="more">and {len(named) - MOST_NAMES} more</li>')
    return f"<ul>{''.join(parts)}</ul>"
