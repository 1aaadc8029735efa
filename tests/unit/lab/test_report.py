"""The page shows every panel: numbers as people read them, and in red what is missing."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from infra.errors import CheckError, Unknown
from infra.plan.dashboards.board import Board, Panel, Query, Row, Unit
from lab.report.answers import Answer, Answered, answered
from lab.report.page import Report, page
from lab.report.prometheus import Prometheus, Series, Window
from lab.report.values import shown

WINDOW = Window(0, 1800, 10)
ALERT = {
    "labels": {"alertname": "HostNotReady", "severity": "page", "level": "host", "host": "<b>h1</b>"},
    "annotations": {"summary": "h1 is not ready", "runbook": "host/recover_host"},
    "state": "firing",
    "activeAt": "2026-12-02T03:00:00Z",
}


def series(*values: float, **labels: str) -> Series:
    """A series with a value every ten seconds up to the end."""
    start = WINDOW.end - 10 * (len(values) - 1)
    return Series(labels, tuple((start + 10.0 * place, value) for place, value in enumerate(values)))


def panel(kind: Any = "lines", *queries: Query, **more: Any) -> Panel:
    """A panel of one query that calls 1 and more bad, unless told otherwise."""
    asked = queries or (Query("up", "{{host}}", bad_above=0.5),)
    return Panel("A title", kind, more.pop("unit", "count"), "What it shows.", asked, **more)


def drawn(one: Panel, *found: tuple[Series, ...], alerts: tuple[Any, ...] = ()) -> str:
    """The whole page of one panel."""
    answers = tuple(Answer(query, back) for query, back in zip(one.queries, found, strict=True))
    board = Board("board", "Board", "Says.", (), (Row("Row", (one,)),))
    return page(Report("Prometheus 3 at http://p:1", WINDOW, alerts, [(board, [Answered(one, answers)])]))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.5, "ratio", "50 %"), (0.00123, "ratio", "0.123 %"), (1234567.0, "count", "1,234,567"), (3.0, "count", "3"),
        (0.0123, "seconds", "12.3 ms"), (2.5, "seconds", "2.5 s"), (0.00002, "seconds", "20 µs"),
        (3 * 2**20, "bytes", "3 MiB"), (1536.0, "bytes/s", "1.5 KiB/s"), (96.5, "USD", "$96.5"), (1.0, "bool", "yes"),
        (0.0, "bool", "no"), (38.0, "°C", "38 °C"), (-0.5, "seconds", "-500 ms"), (0.0, "requests/s", "0/s"),
        (0.00000123, "1/s", "1e-06/s"),
    ],
)  # fmt: skip
def test_a_number_is_short_and_has_its_unit(value: float, unit: Unit, text: str) -> None:
    """No exponent where there need be none, no digits that say nothing."""
    assert shown(value, unit) == text


@pytest.mark.parametrize("kind", ["lines", "states", "table", "stat"])
def test_no_data_is_red_and_never_an_empty_box(kind: str) -> None:
    """Whatever the panel would have drawn."""
    assert '<p class="none">no data</p>' in drawn(panel(kind, by=("host",)), ())


def test_no_data_for_want_of_hardware_says_so() -> None:
    """And which."""
    text = drawn(panel(needs_hardware="real GPUs under dcgm-exporter"), ())
    assert '<p class="none">no data (needs hardware)</p><p>Needs real GPUs under dcgm-exporter.</p>' in text


def test_a_limit_alone_is_no_data() -> None:
    """A promise with nothing to hold against it is a picture of the plan."""
    asked = (Query("x", "seen"), Query("y", "promised", is_limit=True))
    assert '<p class="none">no data</p>' in drawn(panel("lines", *asked), (), (series(1, 1),))


def test_a_query_without_data_beside_others_is_named() -> None:
    """One line that is not there is easily missed."""
    asked = (Query("x", "{{host}} sent"), Query("y", "{{host}} received"))
    assert "no data: received" in drawn(panel("lines", *asked), (series(1, 2, host="h1"),), ())


def test_a_table_joins_queries_by_what_names_a_line() -> None:
    """One line per host in natural order, a dash where a query says nothing of it, red where it is bad."""
    asked = (Query("x", "ready", "bool", bad_below=1), Query("y", "GPUs"))
    text = drawn(
        panel("table", *asked, by=("host",)), (series(1, host="h10"), series(0, host="h9")), (series(8, host="h9"),)
    )
    cells = re.findall(r"<td[^>]*>(.*?)</td>", text)
    assert cells[:3] == ["<span>h9</span>", '<span class="bad">no</span>', "8"]
    assert cells[3:6] == ["<span>h10</span>", "yes", '<span class="nothing">–</span>']


@pytest.mark.parametrize(("value", "look"), [(0.0, "number"), (1.0, "number bad")], ids=["good", "bad"])
def test_a_bad_number_is_red(value: float, look: str) -> None:
    """By the limit of its query."""
    assert f'<p class="{look}">' in drawn(panel("stat"), (series(value),))


@pytest.mark.parametrize("kind", ["lines", "states"])
def test_a_picture_stands_in_the_page(kind: str) -> None:
    """With its names, without what refers to other addresses, and the same each time."""
    found = (series(0, 0, 1, 0, host="h1"),)
    text = drawn(panel(kind), found)
    assert "<svg" in text
    assert "h1" in text
    assert "<metadata>" not in text
    assert text == drawn(panel(kind), found)


def test_a_line_that_has_ended_has_no_value_now() -> None:
    """Its last value would be read as today's."""
    ended = Series({"host": "h1"}, ((0.0, 5.0), (10.0, 5.0)))
    assert "</i>h1 <b>–</b>" in drawn(panel(), (ended,))
    assert "</i>h1 <b>5</b>" in drawn(panel(), (series(5, 5, host="h1"),))


def test_alerts_are_told_with_what_answers_them() -> None:
    """Severity, since when, of what, and the runbook; text of others is text."""
    text = drawn(panel(), (series(1, host="h1"),), alerts=(ALERT,))
    for words in ("HostNotReady", '<span class="chip page">', "03:00:00", "h1 is not ready", "host/recover_host"):
        assert words in text
    assert "<b>h1</b>" not in text


def test_a_page_says_when_and_from_where() -> None:
    """A page without them is worth nothing an hour later."""
    text = drawn(panel(), (series(1, host="h1"),))
    assert "1970-01-01 00:30:00 UTC, the last 30 minutes, from Prometheus 3 at http://p:1." in text


def _answering(status: int, body: Any) -> Prometheus:
    prometheus = Prometheus("http://p:1")
    prometheus._http = httpx.Client(
        base_url="http://p:1", transport=httpx.MockTransport(lambda _: httpx.Response(status, json=body))
    )
    return prometheus


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (400, {"status": "error", "errorType": "bad_data", "error": "parse error"}, CheckError),
        (503, {"status": "error", "errorType": "unavailable", "error": "starting"}, Unknown),
        (502, "no JSON of Prometheus", Unknown),
    ],
    ids=["wrong expression", "not ready", "something else"],
)
def test_a_server_that_does_not_tell_is_no_empty_panel(status: int, body: Any, error: type[Exception]) -> None:
    """The report fails rather than show that nothing is there."""
    with pytest.raises(error):
        _answering(status, body).now("up")


def test_an_infinite_value_is_no_data() -> None:
    """A division by nothing has no place on an axis."""
    found = {"metric": {}, "values": [[1, "NaN"], [2, "+Inf"]]}
    said = {"status": "success", "data": {"result": [found]}}
    assert not answered(panel(), _answering(200, said), WINDOW, 5).has_data
