"""What `pulumi up` would declare is what was reviewed, resource by resource."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.graph.conftest import KEY_VALUE, config_of

GOLDEN = Path(__file__).parent / "golden"
STACKS = ["lab", "bare-b300", "eks-b300", "gke-b200", "aks-h200", "oci-b300", "coreweave-h100"]

Record = Callable[[str, dict[str, Any]], dict[str, Any]]


@pytest.fixture(params=STACKS)
def stack(request: pytest.FixtureRequest) -> str:
    """Each stack of the repository that has a golden file."""
    return str(request.param)


@pytest.fixture
def graph(record: Record, stack: str) -> dict[str, Any]:
    """All that the stack declares."""
    return record(stack, config_of(stack))


def test_a_stack_declares_what_its_golden_file_says(
    graph: dict[str, Any], stack: str, request: pytest.FixtureRequest
) -> None:
    """Every resource with its inputs, parent and order; `pytest tests/graph --update-golden` accepts a change."""
    path = GOLDEN / f"{stack}.yaml"
    if request.config.getoption("--update-golden"):
        kept = {key: graph[key] for key in ("resources", "outputs")}
        path.write_text(yaml.safe_dump(kept, sort_keys=True, width=120), encoding="utf-8")
    want = yaml.safe_load(path.read_text(encoding="utf-8"))
    by_name = {(item["type"], item["name"]): item for item in graph["resources"]}
    wanted = {(item["type"], item["name"]): item for item in want["resources"]}
    assert by_name == wanted
    assert graph["outputs"] == want["outputs"]


def test_a_key_leaves_the_program_as_a_secret_only(graph: dict[str, Any], stack: str) -> None:
    """No value of a key stands in a resource or an output unless it is marked, and none in the golden file."""
    texts = (yaml.safe_dump(graph), (GOLDEN / f"{stack}.yaml").read_text(encoding="utf-8"))
    values = [KEY_VALUE.format(name) for name in config_of(stack)["railwright:keys"]]
    assert values
    assert not [value for value in values for text in texts if value in text]


def test_the_gateways_configuration_is_a_marked_secret(graph: dict[str, Any]) -> None:
    """The keys are there, so that the test above does not pass for want of any."""
    config = next(item for item in graph["resources"] if item["name"] == "gateway-config")
    assert config["inputs"]["stringData"] in ("[secret]", {"envoy.json": "[secret]"})


def test_every_object_is_a_child_of_its_component_and_named_after_it(graph: dict[str, Any]) -> None:
    """Otherwise a rename of the component would not carry over to it."""
    components = {item["name"] for item in graph["resources"] if item["type"].startswith("railwright:")}
    assert not [
        item["name"]
        for item in graph["resources"]
        if item["parent"] in components and not item["name"].startswith(f"{item['parent']}-")
    ]


def test_every_object_goes_to_the_cluster_of_the_spec(graph: dict[str, Any]) -> None:
    """No Kubernetes object uses the default provider, which would follow the user's current context."""
    objects = [item for item in graph["resources"] if item["type"].startswith("kubernetes:")]
    assert {item["name"] for item in objects if item["provider"] != "cluster"} == set()


def test_pods_come_last(graph: dict[str, Any]) -> None:
    """Each Deployment and DaemonSet waits for every other object of its component but those that wait for it."""
    makers = ("kubernetes:apps/v1:Deployment", "kubernetes:apps/v1:DaemonSet")
    made = [item for item in graph["resources"] if item["type"] in makers]
    assert made
    for item in made:
        family = {other["name"]: other for other in graph["resources"] if other["parent"] == item["parent"]}
        beside = {
            name for name, other in family.items() if other["type"] in makers or item["name"] in other["depends_on"]
        }
        claim = {f"{item['parent']}-claim"}
        assert set(item["depends_on"]) | claim >= set(family) - beside
