"""What a stack on OCI asks of it is what its own SDK's models know: fields, types and enumerations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import oci.container_engine.models as engine
import oci.core.models as core
import pytest

from infra.plan.resources import Answer, Ref, Resource, Text
from tests.contracts.clouds import CASES, made, plan, resources

OURS = {name: said for name, said in CASES.items() if said["cluster"]["target"] == "oci"}

MODELS: Mapping[str, str] = {
    "InstanceConfiguration": "CreateInstanceConfigurationDetails",
    "ClusterNetwork": "CreateClusterNetworkDetails",
    "ComputeCluster": "CreateComputeClusterDetails",
    "ComputeGpuMemoryCluster": "CreateComputeGpuMemoryClusterDetails",
    "ComputeCapacityReservation": "CreateComputeCapacityReservationDetails",
    "Vcn": "CreateVcnDetails",
    "Subnet": "CreateSubnetDetails",
    "InternetGateway": "CreateInternetGatewayDetails",
    "NatGateway": "CreateNatGatewayDetails",
    "RouteTable": "CreateRouteTableDetails",
    "SecurityList": "CreateSecurityListDetails",
    "NetworkSecurityGroup": "CreateNetworkSecurityGroupDetails",
    "NetworkSecurityGroupSecurityRule": "AddSecurityRuleDetails",
    "NodePool": "CreateNodePoolDetails",
    "Cluster": "CreateClusterDetails",
}
"""Kind → the model of a request to make one."""

KINDS = {
    "instanceDetails": "ComputeInstanceDetails",
    "launchDetails": "InstanceConfigurationLaunchInstanceDetails",
    "InstanceConfiguration.sourceDetails": "InstanceConfigurationInstanceSourceViaImageDetails",
    "nodeSourceDetails": "NodeSourceViaImageDetails",
    "clusterPodNetworkOptions": "FlannelOverlayClusterPodNetworkOptionDetails",
    "nodePoolPodNetworkOptionDetails": "FlannelOverlayNodePoolPodNetworkOptionDetails",
}
"""Field → the one of several models that ours is."""

OWN_WORDS = {
    "pluginsConfigs": "plugins_config",
    "isCidrBlocks": "cidr_blocks",
    "availabilityDomain": "availability_domain",
    "memoryInGbs": "memory_in_gbs",
    "cycleModes": "cycle_modes",
    "initialNodeLabels": "initial_node_labels",
}
"""Pulumi's name of a field → the SDK's, where they differ in more than their spelling."""

OF_PULUMI = {"NetworkSecurityGroupSecurityRule": {"networkSecurityGroupId"}}
"""Kind → properties that stand in the address of a request, not in it."""

TEXT_NUMBERS = re.compile(r"\d+")
"""Sixty-four bits are text in Pulumi and numbers in the SDK."""


def _model(name: str) -> Any:
    return getattr(core, name, None) or getattr(engine, name)


def _problems(item: Resource) -> list[str]:
    kind = item.token.rpartition(":")[2]
    props = {key: value for key, value in item.props.items() if key not in OF_PULUMI.get(kind, ())}
    return list(_of_model(props, _model(MODELS[kind]), item.name))


def _of_model(value: Mapping[str, Any], kind: Any, path: str) -> Iterator[str]:
    made = kind()
    for key, inner in value.items():
        word = OWN_WORDS.get(key) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
        if word not in made.swagger_types:
            yield f"{path}.{key}: {kind.__name__} has no such field"
            continue
        yield from _of_type(inner, made.swagger_types[word], f"{path}.{key}", _chosen(key, kind))
        yield from _of_enum(inner, kind, word, f"{path}.{key}")


def _chosen(key: str, kind: Any) -> str | None:
    if key == "sourceDetails":
        return KINDS["InstanceConfiguration.sourceDetails"]
    return KINDS.get(key)


def _of_enum(value: Any, kind: Any, word: str, path: str) -> Iterator[str]:
    """The SDK keeps an enumeration as constants of the class, and takes any other text for one to come."""
    constants = {name: member for name, member in vars(kind).items() if isinstance(member, str)}
    allowed = {member for name, member in constants.items() if name == re.sub(r"\W", "_", f"{word}_{member}").upper()}
    if allowed and isinstance(value, str) and value not in allowed:
        yield f"{path}: {value!r} is not of {', '.join(sorted(allowed))}"


def _of_type(value: Any, kind: str, path: str, chosen: str | None) -> Iterator[str]:
    if isinstance(value, Ref | Text | Answer):
        return
    if found := re.fullmatch(r"list\[(.+)\]", kind):
        for index, inner in enumerate(value):
            yield from _of_type(inner, found[1], f"{path}.{index}", chosen)
    elif kind.startswith("dict("):
        yield from () if isinstance(value, Mapping) else [f"{path}: {value!r} is no mapping"]
    elif kind in ("str", "int", "float", "bool"):
        yield from _of_plain(value, kind, path)
    elif not isinstance(value, Mapping):
        yield f"{path}: {value!r} is no {kind}"
    else:
        yield from _of_model(value, _model(chosen or kind), path)


def _of_plain(value: Any, kind: str, path: str) -> Iterator[str]:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = {
        "str": isinstance(value, str),
        "bool": isinstance(value, bool),
        "int": is_number or (isinstance(value, str) and bool(TEXT_NUMBERS.fullmatch(value))),
        "float": is_number,
    }
    if not fits[kind]:
        yield f"{path}: {value!r} is no {kind}"


@pytest.mark.parametrize("case", OURS)
def test_every_resource_is_one_that_the_sdk_knows(case: str) -> None:
    """Each field at any depth, of its type and within its enumeration."""
    asked = [item for item in resources(plan(OURS[case])) if not item.token.startswith("pulumi:")]
    assert asked
    assert [problem for item in asked for problem in _problems(item)] == []


@pytest.mark.parametrize(
    ("token", "props", "said"),
    [
        ("oci:Core/clusterNetwork:ClusterNetwork", {"placement": {}}, "has no such field"),
        ("oci:Core/instanceConfiguration:InstanceConfiguration",
         {"instanceDetails": {"launchDetails": {"agentConfig": {"pluginsConfigs": [{"desiredState": "ON"}]}}}},
         "'ON' is not of DISABLED, ENABLED"),
        ("oci:ContainerEngine/cluster:Cluster", {"type": "ENHANCED"}, "is not of BASIC_CLUSTER, ENHANCED_CLUSTER"),
        ("oci:ContainerEngine/nodePool:NodePool", {"nodeConfigDetails": {"size": "many"}}, "is no int"),
    ],
    ids=["field", "plugin", "type", "number"],
)  # fmt: skip
def test_a_mistake_is_found(token: str, props: dict[str, Any], said: str) -> None:
    """So that the test above can fail."""
    assert any(said in problem for problem in _problems(Resource(token, "wrong", props)))


def _of(case: str, kind: str) -> list[Resource]:
    return [item for item in resources(plan(CASES[case])) if item.token.endswith(f":{kind}")]


def test_hosts_with_a_fabric_come_from_a_cluster_network_with_the_agents_that_bring_it_up() -> None:
    """And without those that would update or restart a host on their own."""
    assert len(_of("oci-b300", "ClusterNetwork")) == 1
    (launch,) = _of("oci-b300", "InstanceConfiguration")
    agents = launch.props["instanceDetails"]["launchDetails"]["agentConfig"]["pluginsConfigs"]
    states = {agent["name"]: agent["desiredState"] for agent in agents}
    assert states["Compute HPC RDMA Authentication"] == states["Compute HPC RDMA Auto-Configuration"] == "ENABLED"
    assert states["OS Management Service Agent"] == states["Oracle Autonomous Linux"] == "DISABLED"


@pytest.mark.parametrize("name", ["BM.GPU.GB200.4", "BM.GPU.GB300.4"])
def test_trays_of_a_rack_are_one_memory_cluster(name: str) -> None:
    """On the memory fabric that was booked, launched through a compute cluster."""
    (memory,) = _of(name, "ComputeGpuMemoryCluster")
    assert memory.props["gpuMemoryFabricId"].startswith("ocid1.computegpumemoryfabric.")
    assert memory.props["computeClusterId"] == Ref("pool-gpus-network")
    assert _of(name, "ClusterNetwork") == []


def test_hosts_without_a_fabric_come_from_okes_own_node_pool() -> None:
    """Which OKE itself replaces and upgrades."""
    said = {**CASES["BM.GPU.H100.8"]}
    said["pools"] = {"gpus": {**said["pools"]["gpus"], "fabric": "none"}}
    asked = resources(plan(said))
    assert [item.token.rpartition(":")[2] for item in asked if item.name.startswith("pool-")] == ["NodePool"]


def test_hosts_of_a_cluster_that_is_made_hear_and_reach_each_other() -> None:
    """All protocols, in both directions."""
    rules = [item.props for item in resources(plan(made("oci"))) if item.token.endswith("SecurityRule")]
    own = Ref("cloud-hosts-group")
    among = [rule for rule in rules if own in (rule.get("source"), rule.get("destination"))]
    among = [rule for rule in among if rule["networkSecurityGroupId"] == own and rule["protocol"] == "all"]
    assert {rule["direction"] for rule in among} == {"INGRESS", "EGRESS"}
