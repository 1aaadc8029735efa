"""Rules follow the plan: paced windows, facts as series, and no more of them with more models."""

from __future__ import annotations

import re
from typing import Any

import pytest

from infra.plan.rules import rules
from infra.plan.rules.expressions import counted, labels, metrics, needed
from infra.plan.rules.pace import Pace, duration
from tests.unit.plan.specs import STACK, plan_of

WATCHED = {"observability": {"storage": {"size_gib": 100}, "runbook_base_url": "https://pages.example.org/runbooks"}}
MORE = {f"models/m{number}": STACK["models"]["chat"] | {"replicas": 1} for number in range(5)}


def _rules(changes: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return [rule for group in rules(plan_of(WATCHED | (changes or {}))) for rule in group["rules"]]


def _one(name: str, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    return next(rule for rule in _rules(changes) if name in {rule.get("alert"), rule.get("record")})


@pytest.mark.parametrize(
    ("pace", "scrape", "window", "length"),
    [(1, 30, "5m", 300), (0.1, 5, "5m", 30), (0.1, 30, "5m", 120), (0.1, 5, "3d", 25_920), (0.33, 1, "1m", 20)],
    ids=["as written", "a tenth", "four scrapes at least", "days", "rounded up"],
)
def test_a_window_is_paced_and_holds_four_scrapes(pace: float, scrape: int, window: str, length: int) -> None:
    """Two may be missed and ``rate`` still has two samples."""
    assert Pace(pace, scrape).window(window) == length


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59, "59s"), (432, "7m12s"), (86_400, "1d"), (90_061, "1d1h1m1s")]
)
def test_durations_are_written_as_prometheus_does(seconds: int, text: str) -> None:
    """Its own form, with nothing that is zero."""
    assert duration(seconds) == text


def test_a_figure_that_nobody_knows_is_a_mistake() -> None:
    """A row that names a limit it does not have must not reach Prometheus."""
    with pytest.raises(KeyError):
        Pace(1, 30).fill("x > <unheard_of>", {})


def test_waits_are_paced_too() -> None:
    """Two minutes are twelve seconds at a tenth."""
    assert _one("ModelErrorsHigh")["for"] == "2m"
    assert _one("ModelErrorsHigh", {"observability/pace": 0.1})["for"] == "12s"


def test_no_token_of_a_template_is_left() -> None:
    """Windows, limits and figures are all filled in."""
    said = [text for rule in _rules() for text in (rule["expr"], *rule.get("annotations", {}).values())]
    assert [text for text in said if re.search(r"<[a-z0-9_]+(:s)?>", text)] == []


def test_the_number_of_rules_does_not_grow_with_models() -> None:
    """Limits per model are series, not rules."""
    assert len(_rules(MORE)) == len(_rules())


def test_a_model_may_promise_something_else() -> None:
    """Its limit is a series of its own."""
    said = _one("plan:latency_seconds:limit", {"observability/models": {"chat": {"latency_s": 10}}})["expr"]
    assert said == 'label_replace(vector(10), "model", "chat", "", "")'


def test_every_alert_leads_to_its_page() -> None:
    """By construction, so none can be forgotten."""
    for rule in _rules():
        if "alert" in rule:
            assert rule["annotations"]["runbook_url"] == f"https://pages.example.org/runbooks/{rule['alert']}.md"


def test_a_price_is_what_all_gpus_of_a_model_cost() -> None:
    """Two replicas of one GPU at 3 dollars an hour."""
    said = _one("plan:usd_per_hour:sum", {"pools/gpus/usd_per_gpu_hour": 3})["expr"]
    assert said == 'label_replace(vector(6), "model", "chat", "", "")'


def test_jobs_that_nobody_scrapes_have_no_alert_about_their_absence() -> None:
    """It would fire for ever."""
    existing = {"observability": {"existing": {"labels": {"release": "x"}, "jobs": ["kube-state-metrics"]}}}
    names = {rule.get("alert") for rule in _rules(existing)}
    assert "ModelDown" in names
    assert names & {"EtcdDown", "ApiServerDown", "DnsDown", "AlertmanagerDown"} == set()


def test_without_monitoring_there_are_no_rules() -> None:
    """A stack that nothing watches."""
    assert rules(plan_of()) == []
    assert rules(plan_of({"observability": {**WATCHED["observability"], "enabled": False}})) == []


@pytest.mark.parametrize(
    ("expr", "names"),
    [
        ('sum by (le) (rate(v:x_bucket{le="5"}[5m])) > on (m) group_left () plan:y', {"v:x_bucket", "plan:y"}),
        ("a unless a offset 5m and on (pod) up == bool 1", {"a", "up"}),
        ('label_replace(vector(1), "pool", "b300", "", "")', set()),
        ("(\n # a word in a comment\n x / y\n)", {"x", "y"}),
        ('count_values by (host) ("xid", gpu:code)', {"gpu:code"}),
    ],
    ids=["functions and clauses", "words", "strings", "comments", "parameters"],
)  # fmt: skip
def test_names_in_an_expression_are_found(expr: str, names: set[str]) -> None:
    """All series it reads and nothing else."""
    assert metrics(expr) == names


def test_labels_and_rates_in_an_expression_are_found() -> None:
    """What it selects, groups and counts."""
    expr = 'sum by (model) (rate(x{code!~"5..",tenant="a,b"}[5m])) / on (pool) group_left (leaf) y'
    assert labels(expr) == {"model", "code", "tenant", "pool", "leaf"}
    assert counted(expr) == {"x"}


def test_an_alert_is_cut_out_with_all_that_it_needs() -> None:
    """Recordings of recordings included, others not."""
    cut = needed(rules(plan_of(WATCHED)), "ModelErrorsHigh")
    names = [rule.get("record") or rule["alert"] for group in cut for rule in group["rules"]]
    assert names == [
        "plan:errors:limit",
        "model:failures:rate",
        "model:judged:rate",
        "model:errors:ratio",
        "ModelErrorsHigh",
    ]
