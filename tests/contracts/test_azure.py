"""What a stack on AKS asks of Azure is what its own published models know: fields, types and enumerations."""

from __future__ import annotations

import enum
import importlib
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from azure.mgmt.containerservice import models as containers
from azure.mgmt.network import models as networks

from infra.catalog.shapes import SHAPES
from infra.plan.resources import Answer, Ref, Resource, Text
from tests.contracts.clouds import CASES, made, plan, resources

OURS = {name: said for name, said in CASES.items() if said["cluster"]["target"] == "aks"}

OF_THE_URL = {"resourceGroupName", "resourceName", "agentPoolName", "virtualNetworkName", "subnetName"}
"""Properties that stand in the address of a request, not in it."""

OUTSIDE = {"location", "sku", "identity", "tags", "zones"}
"""Fields that stand beside the properties of a resource."""

MODELS: Mapping[str, tuple[Any, Any]] = {
    "AgentPool": (containers.AgentPool, containers.ManagedClusterAgentPoolProfileProperties),
    "ManagedCluster": (containers.ManagedCluster, containers.ManagedClusterProperties),
    "VirtualNetwork": (networks.VirtualNetwork, networks.VirtualNetworkPropertiesFormat),
    "Subnet": (networks.Subnet, networks.SubnetPropertiesFormat),
    "NatGateway": (networks.NatGateway, networks.NatGatewayPropertiesFormat),
    "PublicIPAddress": (networks.PublicIPAddress, networks.PublicIPAddressPropertiesFormat),
}
"""Kind → the model of a resource and of its properties."""


def _problems(item: Resource) -> list[str]:
    whole, inner = MODELS[item.token.rpartition(":")[2]]
    found: list[str] = []
    for key, value in item.props.items():
        if key not in OF_THE_URL:
            kind = whole if key in OUTSIDE else inner
            found += _of_model({key: value}, kind, item.name)
    return found


def _fields(kind: Any) -> dict[str, Any]:
    """Name on the wire → its annotation, of a model and those that it extends."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        for name, hint in getattr(base, "__annotations__", {}).items():
            field = vars(base).get(name)
            if field is not None:
                found[getattr(field, "_rest_name_input", None) or name] = hint
    return found


def _of_model(value: Any, kind: Any, path: str) -> Iterator[str]:
    fields = _fields(kind)
    for key, inner in value.items():
        if key not in fields:
            yield f"{path}.{key}: {kind.__name__} has no such field"
        else:
            yield from _of_hint(inner, fields[key], f"{path}.{key}", kind)


def _resolved(hint: Any, within: Any) -> Any:
    """An annotation with the models' own names in it."""
    text = hint.__forward_arg__ if isinstance(hint, typing.ForwardRef) else hint
    if not isinstance(text, str):
        return hint
    package = importlib.import_module(within.__module__.rpartition(".")[0])
    module = importlib.import_module(within.__module__)
    return eval(text, {**vars(typing), **vars(module), "_models": package})  # noqa: S307  of an installed SDK


def _of_hint(value: Any, hint: Any, path: str, within: Any) -> Iterator[str]:
    hint = _resolved(hint, within)
    origin = typing.get_origin(hint)
    parts = [_resolved(part, within) for part in typing.get_args(hint) if part is not type(None)]
    if isinstance(value, Ref | Text | Answer):
        return
    if origin is typing.Union:
        enums = [part for part in parts if _is_a(part, enum.Enum)]
        yield from _of_hint(value, (enums or parts)[0], path, within)
    elif origin is list:
        for index, inner in enumerate(value):
            yield from _of_hint(inner, parts[0], f"{path}.{index}", within)
    else:
        yield from _of_plain(value, hint, path)


def _of_plain(value: Any, hint: Any, path: str) -> Iterator[str]:
    if _is_a(hint, enum.Enum) and value not in [member.value for member in hint]:
        yield f"{path}: {value!r} is not of {hint.__name__}"
    elif hint in (int, str, bool) and type(value) is not hint:
        yield f"{path}: {value!r} is no {hint.__name__}"
    elif _is_a(hint, Mapping) and isinstance(value, Mapping):
        yield from _of_model(value, hint, path)


def _is_a(hint: Any, kind: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, kind)


@pytest.mark.parametrize("case", OURS)
def test_every_resource_is_one_that_azures_models_know(case: str) -> None:
    """Agent pool, cluster and network: no unknown field, no value outside an enumeration."""
    asked = [item for item in resources(plan(OURS[case])) if item.token.rpartition(":")[2] in MODELS]
    assert asked
    assert [problem for item in asked for problem in _problems(item)] == []


@pytest.mark.parametrize(
    ("props", "said"),
    [
        ({"gpuProfile": {"drivr": "None"}}, "has no such field"),
        ({"osSKU": "Debian"}, "'Debian' is not of OSSKU"),
        ({"gpuProfile": {"driver": "none"}}, "'none' is not of GPUDriver"),
        ({"count": "8"}, "is no int"),
    ],
)
def test_a_mistake_is_found(props: dict[str, Any], said: str) -> None:
    """So that the test above can fail."""
    item = Resource("azure-native:containerservice:AgentPool", "wrong", props)
    assert any(said in problem for problem in _problems(item)), _problems(item)


def _pools(case: str) -> list[Resource]:
    return [item for item in resources(plan(OURS[case])) if item.token.endswith(":AgentPool")]


@pytest.mark.parametrize("case", OURS)
def test_the_driver_is_the_operators_alone(case: str) -> None:
    """One of AKS's own beside it rewrites containerd's configuration, and no uninstall brings it back."""
    assert {item.props["gpuProfile"]["driver"] for item in _pools(case)} == {"None"}


@pytest.mark.parametrize("case", OURS)
def test_a_pool_is_one_scale_set(case: str) -> None:
    """Which is what stands on one InfiniBand fabric; a pool of single machines does not."""
    assert {item.props["type"] for item in _pools(case)} == {"VirtualMachineScaleSets"}


def test_a_cluster_that_is_made_lets_in_nobody_by_a_key_of_its_own() -> None:
    """Only who is known to Entra ID, whose rights end when they leave."""
    (cluster,) = (item for item in resources(plan(made("aks"))) if item.token.endswith(":ManagedCluster"))
    assert cluster.props["disableLocalAccounts"]
    assert cluster.props["aadProfile"]["adminGroupObjectIDs"]


@pytest.mark.parametrize("name", [shape.name for shape in SHAPES.values() if shape.target == "aks"])
def test_a_machine_type_counts_against_a_quota_of_its_family(name: str) -> None:
    """In vCPUs, all that one host has."""
    quota = SHAPES[name].quota
    assert quota is not None
    assert (quota.unit, quota.per_host) == ("vCPUs", SHAPES[name].cpus)
    assert quota.name.startswith("standardND")
