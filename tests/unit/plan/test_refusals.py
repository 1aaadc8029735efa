"""What is certain to fail is refused by id and key, with the fix; what works is let through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.config.load import parse
from infra.errors import ConfigError
from infra.plan.build import accepted
from tests.unit.plan.specs import LAB, NOWHERE, STACK, changed, plan_of

ROWS: dict[str, list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("refusals.yaml").read_text())
IDS = (
    *("RW-101", "RW-102", "RW-103", "RW-104"),
    *("RW-201", "RW-202", "RW-203", "RW-204", "RW-205", "RW-301", "RW-402", "RW-501", "RW-601", "RW-602"),
)

refused = pytest.mark.parametrize("row", ROWS["refused"], ids=lambda row: f"{row['id']} {row['symptom']}")
refused_in_the_lab = pytest.mark.parametrize("row", ROWS["refused_in_the_lab"], ids=lambda row: row["symptom"])
passed = pytest.mark.parametrize("row", ROWS["passed"], ids=lambda row: row["case"])


@refused
def test_what_cannot_work_is_refused(row: dict[str, Any]) -> None:
    """One cause yields one refusal, which names the rule, the key at fault and what to do."""
    refusals = plan_of(row["change"]).refusals
    assert [(item.id, item.key) for item in refusals] == [(row["id"], row["key"])]
    assert row["fix"] in refusals[0].fix


@passed
def test_what_works_is_let_through(row: dict[str, Any]) -> None:
    """The nearest case that works is not refused."""
    assert [str(item) for item in plan_of(row["change"]).refusals] == []


@refused_in_the_lab
def test_what_the_lab_host_cannot_do_is_refused(row: dict[str, Any]) -> None:
    """A host without GPUs has rules of its own."""
    refusals = plan_of(row["change"], LAB).refusals
    assert [(item.id, item.key) for item in refusals] == [(row["id"], row["key"])]
    assert row["fix"] in refusals[0].fix


@refused
def test_nothing_refused_is_carried_out(row: dict[str, Any]) -> None:
    """The program gets no plan to declare, only the reason why not."""
    with pytest.raises(ConfigError) as caught:
        accepted(parse("test", changed(row["change"]), NOWHERE))
    assert [problem.split(":")[0] for problem in caught.value.problems][:1] == [
        f"{row['id']} {row['key'].split(':')[0]}"
    ]


@pytest.mark.parametrize("rule", IDS)
def test_every_rule_has_a_case_it_refuses_and_one_it_lets_through(rule: str) -> None:
    """A rule that refuses everything, or nothing, would otherwise pass."""
    assert any(row["id"] == rule for row in ROWS["refused"])
    assert any(row["case"].startswith(rule) for row in ROWS["passed"])


def test_a_replica_count_that_the_lab_host_holds_passes() -> None:
    """Three replicas of 5 GiB fit into the 16 GiB that pods may take."""
    assert plan_of({"models/tiny/replicas": 3}, LAB).refusals == ()


def test_several_causes_are_all_told_at_once() -> None:
    """Nobody has to fix one thing to hear of the next."""
    model = {"grace": "30s", "min_available": 2, "memory_gib": 14}
    causes = {f"models/chat/{key}": value for key, value in model.items()} | {"gateway/load_balancer_timeout": "60s"}
    assert {(item.id, item.key) for item in plan_of(causes).refusals} == {
        ("RW-201", "models.chat.grace"),
        ("RW-204", "models.chat.min_available"),
        ("RW-205", "models.chat.memory_gib"),
        ("RW-202", "gateway.load_balancer_timeout"),
    }


def test_a_second_model_without_a_place_is_named() -> None:
    """The model that comes second on a full pool is the one that is told to go."""
    second = {**STACK["models"]["chat"], "weights": {"host_path": "/weights/second"}}
    refusals = plan_of({"models/chat/replicas": 32, "models/second": second}).refusals
    assert [(item.id, item.key, item.fix) for item in refusals] == [
        ("RW-101", "models.second.replicas", "remove this model, or raise pools.gpus.hosts")
    ]
