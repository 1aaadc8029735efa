"""What a stack on GKE asks of Google is what its own published API model takes: fields, types and enumerations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from google.cloud.container_v1.types import NodePool

from infra.catalog.shapes import SHAPES
from infra.config.load import from_file
from infra.plan.build import build
from infra.plan.facts import Plan
from infra.targets.choice import target_of
from infra.targets.gke.pools import ACCELERATORS

STACKS = sorted((Path(__file__).parents[2] / "stacks").glob("Pulumi.gke-*.yaml"))

OWN_WORDS = {
    "nodeConfig": "config",
    "nodeCount": "initial_node_count",
    "nodeLocations": "locations",
    "guestAccelerators": "accelerators",
}
"""Pulumi's name of a field → the API's."""

OF_THE_URL = ("project", "location", "cluster")
"""Properties that stand in the address of a request, not in it."""


@pytest.fixture(params=STACKS, ids=lambda path: path.stem)
def plan(request: pytest.FixtureRequest) -> Plan:
    """Each example on GKE."""
    spec = from_file(request.param)
    assert spec.stack is not None
    assert spec.problems == ()
    return build(spec, spec.stack)


def _api(value: Any, within: str = "") -> Any:
    """Spell properties as the API does; labels are names of their own."""
    if isinstance(value, Mapping):
        if within == "labels":
            return dict(value)
        words = {"type": "accelerator_type", "count": "accelerator_count"} if within == "guestAccelerators" else {}
        return {
            words.get(key) or OWN_WORDS.get(key) or re.sub(r"([A-Z])", r"_\1", key).lower(): _api(inner, key)
            for key, inner in value.items()
        }
    return [_api(inner, within) for inner in value] if isinstance(value, list) else value


def test_a_node_pool_is_one_that_gke_takes(plan: Plan) -> None:
    """Every field is known, of its type, and within its enumeration: the model refuses anything else."""
    target = target_of(plan)
    for pool in plan.pools:
        (made,) = target.pool_resources(plan, pool)
        props = {key: value for key, value in made.props.items() if key not in OF_THE_URL}
        asked = NodePool({"name": made.name, **_api(props)})
        assert asked.initial_node_count == pool.pool.hosts
        assert asked.config.accelerators[0].accelerator_count == pool.board.gpus


def test_the_model_refuses_what_it_does_not_know() -> None:
    """So that the test above can fail."""
    with pytest.raises(ValueError, match="Unknown field"):
        NodePool(_api({"nodeConfig": {"machineTyp": "a4-highgpu-8g"}}))
    with pytest.raises(KeyError):
        NodePool(_api({"upgradeSettings": {"strategy": "IN_PLACE"}}))


def test_a_specific_reservation_is_in_one_zone(plan: Plan) -> None:
    """And hosts are not asked to stand close a second time (cluster-toolkit, preconditions of gke-node-pool)."""
    for pool in plan.pools:
        (made,) = target_of(plan).pool_resources(plan, pool)
        if "reservationAffinity" in made.props["nodeConfig"]:
            assert len(made.props["nodeLocations"]) == 1
            assert "placementPolicy" not in made.props


def test_every_interface_has_a_network_that_pods_can_name(plan: Plan) -> None:
    """A Network and its parameters for each, in the order of the node pool's."""
    objects = target_of(plan).cluster_objects(plan)
    (pool,) = plan.pools
    assert pool.shape is not None
    (made,) = target_of(plan).pool_resources(plan, pool)
    further = made.props["networkConfig"]["additionalNodeNetworkConfigs"]
    params = [item for item in objects.values() if item["kind"] == "GKENetworkParamSet"]
    assert [item["spec"]["vpcSubnet"] for item in params] == [item["subnetwork"] for item in further]
    assert {item["spec"]["parametersRef"]["name"] for item in objects.values() if item["kind"] == "Network"} == {
        item["metadata"]["name"] for item in params
    }


def test_every_machine_type_has_a_name_of_its_gpus() -> None:
    """GKE does not take one without the other."""
    assert set(ACCELERATORS) == {shape.name for shape in SHAPES.values() if shape.target == "gke"}
