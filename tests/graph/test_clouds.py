"""What each machine type asks of its cloud, and what each cloud is asked where the stack makes the cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.catalog.shapes import SHAPES, Shape
from infra.config.load import PROJECT
from infra.plan.resources import Answer, Ref, Resource, Text
from infra.targets.choice import target_of
from tests.contracts.clouds import EXAMPLES, made, of_shape, plan

GOLDEN = Path(__file__).parent / "golden"
Record = Callable[[str, dict[str, Any]], dict[str, Any]]
SOLD = [shape for shape in SHAPES.values() if shape.target in (*EXAMPLES, "coreweave")]


def _same(path: Path, found: Any, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(found, sort_keys=True, width=120), encoding="utf-8")
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == found


def _plain(value: Any) -> Any:
    """References as text."""
    if isinstance(value, Ref):
        return f"${{{value.resource}.{value.output}}}"
    if isinstance(value, Text):
        return "".join(str(_plain(part)) for part in value.parts)
    if isinstance(value, Answer):
        return f"${{{value.token}}}"
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def _written(item: Resource) -> dict[str, Any]:
    return {"type": item.token, "name": item.name, "inputs": _plain(item.props), "after": list(item.after)}


@pytest.mark.parametrize("shape", SOLD, ids=lambda shape: shape.name)
def test_a_machine_type_asks_for_what_its_golden_file_says(shape: Shape, request: pytest.FixtureRequest) -> None:
    """Two hosts of each, as `pytest tests/graph --update-golden` has written them."""
    planned = plan(of_shape(shape))
    (pool,) = planned.pools
    target = target_of(planned)
    found = {
        "resources": [_written(item) for item in target.pool_resources(planned, pool)],
        "objects": {**target.cluster_objects(planned), **target.pool_objects(pool)},
    }
    assert found["resources"] or found["objects"]
    _same(GOLDEN / "shapes" / f"{shape.name}.yaml", json.loads(json.dumps(found)), request)


@pytest.fixture(scope="module", params=EXAMPLES)
def target(request: pytest.FixtureRequest) -> str:
    """Each target whose cluster a stack can make."""
    return str(request.param)


@pytest.fixture(scope="module")
def graph(record: Record, target: str) -> dict[str, dict[str, Any]]:
    """All that a stack declares that makes its cluster, by name."""
    said = {**made(target), "models": {}, "keys": {}}
    del said["observability"]
    config = {f"{PROJECT}:{key}": value for key, value in said.items()}
    return {item["name"]: item for item in record(f"{target}-made", config)["resources"]}


def test_a_cluster_that_is_made_is_what_its_golden_file_says(
    graph: dict[str, dict[str, Any]], target: str, request: pytest.FixtureRequest
) -> None:
    """Every resource of the cloud with its inputs, parent and order."""
    # Resources that do not wait for each other are declared in any order.
    declared = sorted(graph.values(), key=lambda item: (item["name"], item["type"]))
    found = [item for item in declared if not item["type"].startswith("kubernetes:")]
    _same(GOLDEN / "made" / f"{target}.yaml", found, request)


def test_nothing_follows_what_a_shell_has_set(graph: dict[str, dict[str, Any]], target: str) -> None:
    """Each resource of a cloud or of Kubernetes has a provider of the stack, never the default one."""
    own = {item["name"] for item in graph.values() if item["type"].startswith("pulumi:providers:")}
    others = [item for item in graph.values() if not item["type"].startswith(("pulumi:", "railwright:"))]
    assert {item["provider"] for item in others} == own
    assert len(own) == 2


def test_the_way_into_a_cluster_that_is_made_is_a_secret(graph: dict[str, dict[str, Any]]) -> None:
    """No kubeconfig in a file, none readable in the state."""
    inputs = graph["cluster"]["inputs"]
    assert inputs["kubeconfig"] == "[secret]"


def test_objects_are_made_anew_with_another_cluster_only(graph: dict[str, dict[str, Any]], target: str) -> None:
    """The identifier is of this very cluster: one of the same name in its place has another (pulumi-kubernetes#887)."""
    assert graph["cluster"]["inputs"]["clusterIdentifier"] in (
        "https://oidc.example.com/id/1",
        "gke-1.us-east4.gke.goog",
        "uid-1",
        "cloud-cluster-id",
    )


def test_hosts_wait_for_the_whole_cluster(graph: dict[str, dict[str, Any]]) -> None:
    """None can join before its network and the rights of hosts are there."""
    pools = [item for item in graph.values() if item["parent"].startswith("pool-")]
    clouds = [item for item in pools if not item["type"].startswith("kubernetes:")]
    made_first = {item["name"] for item in graph.values() if item["parent"] == "cloud"}
    assert clouds
    assert all(made_first <= set(item["depends_on"]) for item in clouds)
