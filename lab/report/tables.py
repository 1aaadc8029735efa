"""Tables of a page, and the number of a panel that has one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from lab.report.answers import Answer, Answered
from lab.report.values import shown

MOST_ROWS = 100
"""Rows of a table (count); a page is no database."""

_ORDER = {"page": 0, "ticket": 1, "info": 2}
_TOLD = ("alertname", "severity", "level")
"""Labels that have a column of their own."""


def number(found: Answered) -> str:
    """The value of a panel that has one, red when it is bad."""
    parts = []
    for answer in found.answers:
        for series in answer.series:
            look = "number bad" if answer.query.is_bad(series.last) else "number"
            parts.append(f'<p class="{look}">{escape(shown(series.last, found.panel.unit_of(answer.query)))}</p>')
    return "".join(parts)


def table(found: Answered) -> str:
    """One line per thing, one column per query."""
    by = found.panel.by
    columns = [{_key(series.labels, by): series.last for series in answer.series} for answer in found.answers]
    keys = sorted({key for column in columns for key in column}, key=_natural)
    rows = []
    for key in keys[:MOST_ROWS]:
        values = (_cell(found, answer, column.get(key)) for answer, column in zip(found.answers, columns, strict=True))
        rows.append([*(_chip(word) for word in key), *values])
    more = f'<p class="more">and {len(keys) - MOST_ROWS} more</p>' if len(keys) > MOST_ROWS else ""
    return html([*by, *(answer.query.name for answer in found.answers)], rows, texts=len(by)) + more


def alerts(found: Sequence[Mapping[str, Any]]) -> str:
    """What fires or is about to, the worst first."""
    ranked = sorted(found, key=lambda one: (one["state"] != "firing", _ORDER.get(_severity(one), 3), one["activeAt"]))
    rows = []
    for one in ranked:
        labels, said = one["labels"], one.get("annotations", {})
        of = ", ".join(f"{label} {value}" for label, value in sorted(labels.items()) if label not in _TOLD)
        since = f"{datetime.fromisoformat(one['activeAt']):%H:%M:%S}"
        texts = (labels["alertname"], _severity(one), one["state"], since, of, said.get("summary", ""))
        rows.append([*(_chip(text) for text in texts), _command(said.get("runbook", ""))])
    return html(("alert", "severity", "state", "since (UTC)", "of", "summary", "answer"), rows, texts=7)


def html(head: Iterable[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """A table of cells that are HTML already.

    Args:
        texts: how many columns from the left are words; numbers go to the right.
    """
    names = list(head)
    looks = [' class="text"' if place < texts else "" for place in range(len(names))]
    top = "".join(f"<th{look}>{escape(name)}</th>" for look, name in zip(looks, names, strict=True))
    lines = (
        f"<tr>{''.join(f'<td{look}>{cell}</td>' for look, cell in zip(looks, row, strict=True))}</tr>" for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _cell(found: Answered, answer: Answer, value: float | None) -> str:
    if value is None:
        return '<span class="nothing">–</span>'
    text = escape(shown(value, found.panel.unit_of(answer.query)))
    return f'<span class="bad">{text}</span>' if answer.query.is_bad(value) else text


def _chip(word: str) -> str:
    look = f' class="chip {word}"' if word in _ORDER else ""
    return f"<span{look}>{escape(word) or '–'}</span>"


def _command(name: str) -> str:
    return f"<code>runbook show {escape(name)}</code>" if name else "–"


def _severity(alert: Mapping[str, Any]) -> str:
    return str(alert["labels"].get("severity", ""))


def _key(labels: Mapping[str, str], by: Sequence[str]) -> tuple[str, ...]:
    return tuple(labels.get(label, "") for label in by)


def _natural(key: tuple[str, ...]) -> list[tuple[int, str]]:
    """Sort host 9 before host 10."""
    words = (word for text in key for word in re.split(r"(\d+)", f"{text} "))
    return [(int(word), "") if word.isdigit() else (-1, word) for word in words]
