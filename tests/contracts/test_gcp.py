"""What a stack on GKE asks of Google is what its own published API model takes: fields, types and enumerations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from google.cloud.compute_v1.types import Network, ResourcePolicy, Subnetwork
from google.cloud.container_v1.types import Cluster, NodePool

from infra.catalog.shapes import SHAPES
from infra.plan.facts import Plan
from infra.plan.resources import Ref, Resource, Text
from infra.targets.choice import target_of
from infra.targets.gke.pools import ACCELERATORS
from tests.contracts import clouds
from tests.contracts.clouds import CASES

OURS = {name: said for name, said in CASES.items() if said["cluster"]["target"] == "gke"}

OWN_WORDS = {
    "nodeConfig": "config",
    "nodeCount": "initial_node_count",
    "nodeLocations": "locations",
    "guestAccelerators": "accelerators",
}
"""Pulumi's name of a field → the API's."""

OF_THE_URL = ("project", "location", "cluster")
"""Properties that stand in the address of a request, not in it."""


@pytest.fixture(params=OURS)
def plan(request: pytest.FixtureRequest) -> Plan:
    """The example on GKE, the same with its cluster made, and each machine type."""
    return clouds.plan(OURS[request.param])


def _pools(plan: Plan) -> list[Resource]:
    asked = [item for pool in plan.pools for item in target_of(plan).pool_resources(plan, pool)]
    return [item for item in asked if item.token.endswith(":NodePool")]


def _api(value: Any, within: str = "") -> Any:
    """Spell properties as the API does; labels are names of their own."""
    if isinstance(value, Ref | Text):
        return "known-later"
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
    for pool, made in zip(plan.pools, _pools(plan), strict=True):
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
    for made in _pools(plan):
        if "reservationAffinity" in made.props["nodeConfig"]:
            assert len(made.props["nodeLocations"]) == 1
            assert "placementPolicy" not in made.props or "policyName" in made.props["placementPolicy"]


def test_every_interface_has_a_network_that_pods_can_name(plan: Plan) -> None:
    """A Network and its parameters for each, in the order of the node pool's."""
    objects = target_of(plan).cluster_objects(plan)
    (made,) = _pools(plan)
    further = made.props["networkConfig"]["additionalNodeNetworkConfigs"]
    params = [item for item in objects.values() if item["kind"] == "GKENetworkParamSet"]
    assert [item["spec"]["vpcSubnet"] for item in params] == [item["subnetwork"] for item in further]
    assert {item["spec"]["parametersRef"]["name"] for item in objects.values() if item["kind"] == "Network"} == {
        item["metadata"]["name"] for item in params
    }


def test_every_machine_type_has_a_name_of_its_gpus() -> None:
    """GKE does not take one without the other."""
    assert set(ACCELERATORS) == {shape.name for shape in SHAPES.values() if shape.target == "gke"}


def _made(kind: str) -> list[Resource]:
    return [item for item in clouds.resources(clouds.plan(clouds.made("gke"))) if item.token.endswith(f":{kind}")]


OF_CLUSTER = {
    "minMasterVersion": ("initial_cluster_version", None),
    "datapathProvider": ("network_config", "datapath_provider"),
    "enableMultiNetworking": ("network_config", "enable_multi_networking"),
    "masterAuthorizedNetworksConfig": ("master_authorized_networks_config", None),
}
"""Pulumi's property of a cluster → the API's field, and the one within it."""

NOT_ASKED = {"removeDefaultNodePool", "deletionProtection"}
"""Properties that are Pulumi's own."""


def test_a_cluster_that_is_made_is_one_that_gke_takes() -> None:
    """Every field is known, of its type, and within its enumeration: the model refuses anything else."""
    (cluster,) = _made("Cluster")
    asked: dict[str, Any] = {}
    for key, value in cluster.props.items():
        if key in NOT_ASKED:
            continue
        outer, inner = OF_CLUSTER.get(key, (re.sub(r"([A-Z])", r"_\1", key).lower(), None))
        spelled = _api(value)
        asked[outer] = {**asked.get(outer, {}), inner: spelled} if inner else spelled
    made = Cluster(asked)
    assert made.network_config.enable_multi_networking
    assert made.private_cluster_config.enable_private_nodes


@pytest.mark.parametrize(("kind", "model"), [("Network", Network), ("Subnetwork", Subnetwork)])
def test_a_network_that_is_made_is_one_that_compute_takes(kind: str, model: Any) -> None:
    """The same of networks and their parts."""
    asked = _made(kind)
    assert asked
    for item in asked:
        model(_api(item.props))


def test_gpus_of_a_cluster_that_is_made_have_a_network_with_the_profile_of_their_zone() -> None:
    """RoCE is there with it alone, in one zone, with a part for each GPU."""
    (network,) = (item for item in _made("Network") if item.name == "cloud-rdma")
    assert network.props["networkProfile"].endswith("/networkProfiles/us-east4-b-vpc-roce")
    assert len([item for item in _made("Subnetwork") if item.name.startswith("cloud-rdma-")]) == 8


def test_trays_of_a_rack_are_placed_as_one_domain() -> None:
    """By a policy that compute takes; eighteen hosts with four GPUs each."""
    asked = clouds.resources(clouds.plan(CASES["a4x-highgpu-4g"]))
    (policy,) = (item for item in asked if item.token.endswith(":ResourcePolicy"))
    made = ResourcePolicy(_api({key: value for key, value in policy.props.items() if key != "project"}))
    assert made.workload_policy.accelerator_topology == "1x72"
