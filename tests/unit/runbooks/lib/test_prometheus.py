"""No data, a misspelt metric, an error or no answer is unknown, never a number; a wrong expression is a mistake."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from infra.errors import ConfigError, Unknown
from runbooks.lib.endpoint import Endpoint
from runbooks.lib.prometheus import Prometheus


class Answers(Endpoint):
    """Gives one answer to everything, or one per path."""

    def __init__(self, status: int, answers: Any) -> None:
        super().__init__("Prometheus", "http://192.0.2.1")
        self._status, self._answers = status, answers

    def _send(self, method: str, path: str, params: Mapping[str, str], body: Any) -> tuple[int, str]:
        found = self._answers.get(path, {}) if isinstance(self._answers, dict) else self._answers
        return self._status, found if isinstance(found, str) else json.dumps(found)


def _prometheus(status: int, data: Any) -> Prometheus:
    text = data if isinstance(data, str) else json.dumps(data)
    return Prometheus(Answers(status, text))


def _vector(*values: str) -> dict[str, Any]:
    result = [{"metric": {"n": str(n)}, "value": [0, value]} for n, value in enumerate(values)]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


@pytest.mark.parametrize(
    ("status", "answer", "error", "said"),
    [
        (200, _vector(), Unknown, "no data"),
        (200, _vector("NaN"), Unknown, "no data"),
        (200, _vector("1", "2"), Unknown, "2 series"),
        (503, {"status": "error", "errorType": "timeout", "error": "timed out"}, Unknown, "503"),
        (422, {"status": "error", "errorType": "execution", "error": "many-to-many"}, Unknown, "many-to-many"),
        (404, "<html>no such page</html>", Unknown, "no JSON"),
        (200, "<html>a proxy's page</html>", Unknown, "no JSON"),
        (400, {"status": "error", "errorType": "bad_data", "error": "parse error"}, ConfigError, "parse error"),
    ],
    ids=["none", "not a number", "several", "timeout", "execution", "not found", "not Prometheus", "parse error"],
)
def test_what_is_not_one_number_is_no_number(status: int, answer: Any, error: type[Exception], said: str) -> None:
    """The sentence says what came instead."""
    with pytest.raises(error, match=said):
        _prometheus(status, answer).value("up")


@pytest.mark.parametrize(("text", "number"), [("0", 0.0), ("1.5", 1.5), ("+Inf", float("inf"))])
def test_one_number_is_one(text: str, number: float) -> None:
    """Zero too, when Prometheus says so."""
    assert _prometheus(200, _vector(text)).value("up") == number


def test_a_vector_leaves_out_what_is_not_a_number() -> None:
    """And is unknown when nothing is left."""
    assert [sample.value for sample in _prometheus(200, _vector("NaN", "2")).vector("x")] == [2.0]
    with pytest.raises(Unknown, match="no data"):
        _prometheus(200, _vector("NaN")).vector("x")


def test_none_is_an_answer_only_where_the_metric_exists() -> None:
    """Else a misspelt name would pass every check."""
    with pytest.raises(Unknown, match="upp"):
        _prometheus(200, _vector()).samples("upp == 0", needs=["upp"])


def test_what_was_stored_is_told_without_filling_gaps() -> None:
    """An alert that has resolved has its samples still; none at all is an answer, no answer is unknown."""
    matrix = {"resultType": "matrix", "result": [{"metric": {"alertname": "x"}, "values": [[10, "1"], [15, "1"]]}]}
    (found,) = _prometheus(200, {"status": "success", "data": matrix}).stored("ALERTS", within=timedelta(seconds=60))
    assert [at.timestamp() for at, _ in found.points] == [10, 15]
    none = {"status": "success", "data": {"resultType": "matrix", "result": []}}
    assert _prometheus(200, none).stored("ALERTS", within=timedelta(seconds=60)) == []
    with pytest.raises(Unknown):
        _prometheus(503, "").stored("ALERTS", within=timedelta(seconds=60))


def test_silence_of_an_alert_without_a_rule_says_nothing() -> None:
    """A name that no rule makes can never fire."""
    pages: dict[str, Any] = {"/api/v1/alerts": {"alerts": []}, "/api/v1/rules": {"groups": []}}
    answers = {path: {"status": "success", "data": data} for path, data in pages.items()}
    with pytest.raises(Unknown, match="GatewayDwon"):
        Prometheus(Answers(200, answers)).firing("GatewayDwon")


def test_a_range_without_points_is_unknown() -> None:
    """Series whose points are not numbers count as none."""
    result = [{"metric": {}, "values": [[0, "NaN"], [1, "NaN"]]}]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    with pytest.raises(Unknown, match="no data"):
        _prometheus(200, answer).range("x", within=timedelta(minutes=1), step=timedelta(seconds=5))
