"""What a stack on EKS asks of AWS is what AWS's own published API models take: fields, types and enumerations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import botocore.session
import pytest
from botocore.model import ServiceModel
from botocore.validate import ParamValidator

from infra.catalog.shapes import SHAPES
from infra.plan.facts import Plan
from infra.plan.resources import Ref, Resource
from tests.contracts import clouds
from tests.contracts.clouds import CASES

OURS = {name: said for name, said in CASES.items() if said["cluster"]["target"] == "eks"}

OWN_WORDS = {"securityGroups": "Groups", "capacityReservationTarget": "CapacityReservationTarget"}
"""Pulumi's name of a field → EC2's, where they differ in more than the first letter."""

NO_FIELD = {"updateDefaultVersion"}
"""Properties of Pulumi's resource alone."""


@pytest.fixture(scope="module")
def models() -> Mapping[str, ServiceModel]:
    """Published models of EC2 and EKS."""
    session = botocore.session.Session()
    return {name: session.get_service_model(name) for name in ("ec2", "eks")}


@pytest.fixture(params=OURS)
def plan(request: pytest.FixtureRequest) -> Plan:
    """The example on EKS, the same with its cluster made, and each machine type."""
    return clouds.plan(OURS[request.param])


def _of(plan: Plan, kind: str) -> list[Resource]:
    return [item for item in clouds.resources(plan) if item.token.endswith(f":{kind}")]


def _of_pools(plan: Plan, kind: str = "") -> list[Resource]:
    return [item for item in clouds.resources(plan) if item.name.startswith("pool-") and item.token.endswith(kind)]


def _ec2(value: Any) -> Any:
    """Spell properties as EC2's API does; what is not known yet is some text."""
    if isinstance(value, Ref):
        return f"{value.resource}.{value.output}"
    if isinstance(value, Mapping):
        return {
            OWN_WORDS.get(key, key[0].upper() + key[1:]): _ec2(inner)
            for key, inner in value.items()
            if key not in NO_FIELD
        }
    if isinstance(value, list):
        return [_ec2(inner) for inner in value]
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _eks(value: Any) -> Any:
    if isinstance(value, Ref):
        return f"{value.resource}.{value.output}"
    if isinstance(value, Mapping):
        return {{"subnetIds": "subnets", "nodeRoleArn": "nodeRole"}.get(k, k): _eks(v) for k, v in value.items()}
    return [_eks(inner) for inner in value] if isinstance(value, list) else value


def _outside(value: Any, shape: Any, path: str = "") -> Iterator[str]:
    """Values that are not in the model's enumerations, which botocore leaves to the server."""
    if shape.type_name == "structure":
        for key, inner in value.items():
            yield from _outside(inner, shape.members[key], f"{path}.{key}")
    elif shape.type_name == "list":
        for inner in value:
            yield from _outside(inner, shape.member, path)
    elif getattr(shape, "enum", None) and value not in shape.enum:
        yield f"{path}: {value!r}"


def test_a_launch_template_is_one_that_ec2_takes(plan: Plan, models: Mapping[str, ServiceModel]) -> None:
    """Every field is known, of its type, and within its enumeration."""
    shape = models["ec2"].operation_model("CreateLaunchTemplate").input_shape.members["LaunchTemplateData"]
    for item in _of(plan, "LaunchTemplate"):
        data = _ec2(item.props)
        for spec in data["TagSpecifications"]:
            spec["Tags"] = [{"Key": key, "Value": value} for key, value in spec["Tags"].items()]
        assert ParamValidator().validate(data, shape).generate_report() == ""
        assert list(_outside(data, shape)) == []


def test_a_node_group_is_one_that_eks_takes(plan: Plan, models: Mapping[str, ServiceModel]) -> None:
    """As above."""
    shape = models["eks"].operation_model("CreateNodegroup").input_shape
    for item in _of_pools(plan, "NodeGroup"):
        data = {**_eks(item.props), "nodegroupName": item.name}
        assert ParamValidator().validate(data, shape).generate_report() == ""
        assert list(_outside(data, shape)) == []
        assert not {"instanceTypes", "diskSize"} & data.keys()


@pytest.mark.parametrize("name", [shape.name for shape in SHAPES.values() if shape.target == "eks"])
def test_a_machine_type_is_one_that_ec2_has(name: str, models: Mapping[str, ServiceModel]) -> None:
    """By its full name; a family such as p6 matches none (global-capacity-orchestrator#68)."""
    known = models["ec2"].shape_for("InstanceType").enum
    assert name in known
    assert name.split(".", maxsplit=1)[0].split("-", maxsplit=1)[0] not in known


def test_what_is_booked_says_where_hosts_stand(plan: Plan) -> None:
    """A placement group beside a reservation made without one finds no capacity (terraform-aws-eks#3730)."""
    for launch in _of(plan, "LaunchTemplate"):
        assert ("placement" in launch.props) != ("capacityReservationSpecification" in launch.props)


def test_a_capacity_block_is_asked_for_in_all_three_places(plan: Plan) -> None:
    """Market and reservation of the template, and the node group's own capacity type; EKS refuses any two of them."""
    launches = {item.name.removesuffix("-launch"): item.props for item in _of(plan, "LaunchTemplate")}
    for group in _of_pools(plan, "NodeGroup"):
        launch = launches[group.name.removesuffix("-nodes")]
        is_block = group.props["capacityType"] == "CAPACITY_BLOCK"
        assert (launch.get("instanceMarketOptions") == {"marketType": "capacity-block"}) == is_block
        assert "capacityReservationSpecification" in launch or not is_block


def test_resources_grow_with_pools_not_with_hosts(plan: Plan) -> None:
    """At most four of each pool, whatever its size."""
    assert len(_of_pools(plan)) <= 4 * len(plan.pools)


def test_hosts_of_a_fabric_hear_and_reach_each_other(plan: Plan) -> None:
    """EFA needs all of a group's traffic to itself in both directions, and is silent without either."""
    own = {"protocol": "-1", "fromPort": 0, "toPort": 0, "self": True}
    groups = _of_pools(plan, "SecurityGroup")
    assert groups
    assert all(own in item.props["ingress"] and own in item.props["egress"] for item in groups)


OF_CLUSTER = {"vpcConfig": "resourcesVpcConfig"}
"""Pulumi's name of a field of a cluster → EKS's, where they differ."""


def test_a_cluster_that_is_made_is_one_that_eks_takes(models: Mapping[str, ServiceModel]) -> None:
    """Every field is known, of its type, and within its enumeration."""
    (cluster,) = _of(clouds.plan(clouds.made("eks")), "Cluster")
    shape = models["eks"].operation_model("CreateCluster").input_shape
    data = {OF_CLUSTER.get(key, key): _eks_of_cluster(value) for key, value in cluster.props.items()}
    kinds = data.pop("enabledClusterLogTypes")
    data["logging"] = {"clusterLogging": [{"types": kinds, "enabled": True}]}
    assert ParamValidator().validate(data, shape).generate_report() == ""
    assert list(_outside(data, shape)) == []


def _eks_of_cluster(value: Any) -> Any:
    """References as text; names of fields are EKS's own."""
    if isinstance(value, Ref):
        return f"{value.resource}.{value.output}"
    if isinstance(value, Mapping):
        return {key: _eks_of_cluster(inner) for key, inner in value.items()}
    return [_eks_of_cluster(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("kind", ["Vpc", "Subnet", "NatGateway", "InternetGateway"])
def test_a_network_that_is_made_is_one_that_ec2_takes(kind: str, models: Mapping[str, ServiceModel]) -> None:
    """Fields of its parts, but for what Pulumi sets in a request of its own."""
    shape = models["ec2"].operation_model(f"Create{kind}").input_shape
    later = {"Tags", "EnableDnsHostnames", "VpcId"} if kind == "InternetGateway" else {"Tags", "EnableDnsHostnames"}
    for item in _of(clouds.plan(clouds.made("eks")), kind):
        data = {key: value for key, value in _ec2(item.props).items() if key not in later}
        assert ParamValidator().validate(data, shape).generate_report() == ""


def test_no_zone_of_a_network_that_is_made_hangs_on_another() -> None:
    """Each has its own way out."""
    asked = clouds.resources(clouds.plan(clouds.made("eks")))
    assert len([item for item in asked if item.token.endswith(":NatGateway")]) == len(clouds.MADE["eks"]["zones"])


def test_an_api_server_that_nobody_is_named_for_is_not_public() -> None:
    """Who is let in from outside is said, or nobody is."""
    said = clouds.made("eks")
    del said["cluster"]["aws"]["made"]["api_from"]
    (cluster,) = _of(clouds.plan(said), "Cluster")
    assert cluster.props["vpcConfig"]["endpointPublicAccess"] is False
