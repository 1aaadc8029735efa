"""Monitoring in the graph: its size, its order, and how little it is beside a Prometheus that is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.graph.conftest import config_of

Record = Callable[[str, dict[str, Any]], dict[str, Any]]
COMPONENT = "observability"
EXISTING = {"existing": {"labels": {"release": "monitoring"}}, "gpu_exporter": "operator", "dashboards": False}


def of(record: Record, observability: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Objects of the component in the bare-metal stack, by name."""
    config = config_of("bare-b300")
    config.pop("railwright:observability", None)
    if observability is not None:
        config["railwright:observability"] = observability
    return {item["name"]: item for item in record("bare-b300", config)["resources"] if item["parent"] == COMPONENT}


def kinds(found: dict[str, dict[str, Any]]) -> Counter[str]:
    """How many of each kind."""
    return Counter(item["type"].rpartition(":")[2] for item in found.values())


@pytest.mark.parametrize("section", [None, {"enabled": False}], ids=["absent", "off"])
def test_a_stack_that_is_not_watched_has_nothing_of_it(record: Record, section: dict[str, Any] | None) -> None:
    """Nothing is brought along unasked."""
    assert of(record, section) == {}


def test_beside_an_existing_prometheus_there_are_monitors_and_rules(record: Record) -> None:
    """No definition, no role, no pod."""
    found = of(record, EXISTING)
    assert set(kinds(found)) == {"PodMonitor", "PrometheusRule"}
    assert {item["inputs"]["metadata"]["labels"]["release"] for item in found.values()} == {"monitoring"}


def test_definitions_come_first_and_outlive_the_stack(record: Record) -> None:
    """A custom resource before its definition fails; a definition that goes takes everybody's objects along."""
    found = of(record, {"storage": {"size_gib": 500}})
    definitions = {name for name, item in found.items() if item["type"].endswith(":CustomResourceDefinition")}
    assert {name for name in definitions if not found[name]["retain_on_delete"]} == set()
    assert {name.rpartition("-")[2] for name in definitions} >= {"prometheuses", "alertmanagers", "podmonitors"}
    custom = [item for item in found.values() if item["type"].startswith("kubernetes:monitoring.coreos.com/")]
    operator = found[f"{COMPONENT}-operator"]
    assert set(operator["depends_on"]) >= definitions
    assert [item["name"] for item in custom if operator["name"] not in item["depends_on"]] == []


@pytest.mark.parametrize("owner", ["operator", "definitions"])
def test_definitions_of_others_are_left_alone(record: Record, owner: str) -> None:
    """Two owners of one definition would undo each other's changes."""
    found = kinds(of(record, {"storage": {"size_gib": 500}, owner: "existing"}))
    assert found["CustomResourceDefinition"] == 0
    assert found["Prometheus"] == found["Alertmanager"] == 1


def test_monitoring_does_not_grow_with_hosts(record: Record) -> None:
    """Ten hosts or four thousand: the same objects."""
    counts = []
    for hosts in (100, 4000):
        config = config_of("bare-b300")
        config["railwright:pools"]["large"]["hosts"] = hosts
        config["railwright:observability"] = EXISTING
        counts.append(Counter(item["type"] for item in record("bare-b300", config)["resources"]))
    assert counts[0] == counts[1]
