"""What the pools, operators and plain objects of one stack provide to pods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from infra.errors import Unknown
from policies import releases
from policies.field import Field
from policies.networks import KINDS
from policies.resource import Resource

OPERATOR_LABELS = {
    "gpu-operator": ("nvidia.com/", "feature.node.kubernetes.io/"),
    "network-operator": ("network.nvidia.com/", "feature.node.kubernetes.io/"),
}
"""Starts of the labels that an operator puts on hosts. Source: GPU Operator 26.7, Network Operator 26.4, NFD."""
DEFAULT_PREFIX = {"configList": "rdma", "resourceList": "nvidia.com"}
"""Prefix of a resource when its plugin's config names none.
Source: k8s-rdma-shared-dev-plugin, sriov-network-device-plugin."""


@dataclass(slots=True)
class Hosts:
    """Hosts that are alike: their labels, and their resources by amount."""

    name: str
    labels: dict[str, str]
    resources: dict[str, int]


@dataclass(slots=True)
class Supply:
    """All that a stack provides; ``unsure`` names what could provide more, once it is known."""

    hosts: list[Hosts] = field(default_factory=list)
    classes: set[str] = field(default_factory=set)
    resources: set[str] = field(default_factory=set)
    """Resources that a device plugin adds to hosts, in amounts that the hardware decides."""
    networks: set[str] = field(default_factory=set)
    """Networks beside the cluster's own that pods can have interfaces in."""
    label_starts: set[str] = field(default_factory=set)
    unsure: list[str] = field(default_factory=list)


def _node_pool(total: Supply, pool: Resource) -> None:
    template = pool.inputs["spec"]["template"]
    offered = "allocatable" if template["allocatable"].known() is not None else "capacity"
    total.hosts.append(Hosts(pool.name, _texts(template["labels"]), _amounts(template[offered])))


def _node(total: Supply, node: Resource) -> None:
    labels = _texts(node.inputs["metadata"]["labels"])
    total.hosts.append(Hosts(node.name, labels, _amounts(node.inputs["status"]["allocatable"])))


def _runtime_class(total: Supply, runtime_class: Resource) -> None:
    total.classes.add(str(runtime_class.inputs["metadata"]["name"].known()))


def _pool(total: Supply, pool: Resource) -> None:
    """Add what a pool says of hosts that exist already and that no other resource of the stack describes."""
    stated = pool.inputs["provides"]
    if stated.known() is not None:
        total.hosts.append(Hosts(pool.name, _texts(stated["labels"]), _amounts(stated["resources"])))
        total.classes.update(str(name.known()) for name in stated["runtimeClasses"].each())


def _config_map(total: Supply, config_map: Resource) -> None:
    for _, text in config_map.inputs["data"].entries():
        total.resources.update(_plugin_resources(text))


def _network_operator(total: Supply, policy: Resource) -> None:
    total.label_starts.update(OPERATOR_LABELS["network-operator"])
    for plugin in ("rdmaSharedDevicePlugin", "sriovDevicePlugin"):
        total.resources.update(_plugin_resources(policy.inputs["spec"][plugin]["config"]))


def _virtual_functions(total: Supply, policy: Resource) -> None:
    total.resources.add(f"nvidia.com/{policy.inputs['spec']['resourceName'].known()}")


def _network(total: Supply, network: Resource) -> None:
    total.networks.add(str(network.inputs["metadata"]["name"].known()))


def _cluster_policy(total: Supply, policy: Resource) -> None:
    _gpu_operator(total, policy.inputs["spec"]["operator"]["runtimeClass"])


def _release(total: Supply, release: Resource) -> None:
    """Add what an operator installed by Helm provides; its objects are not resources of the stack."""
    chart = releases.release(release).chart
    if chart == "gpu-operator":
        _gpu_operator(total, release.inputs.at("values", "operator", "runtimeClass"))
    elif chart == "network-operator":
        total.label_starts.update(OPERATOR_LABELS[chart])


PROVIDERS = {
    ("lab.railwright.dev", "NodePool"): _node_pool,
    ("pools", "GpuPool"): _pool,
    ("core", "Node"): _node,
    ("core", "NodePatch"): _node,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    ("core", "ConfigMap"): _config_map,
    ("mellanox.com", "NicClusterPolicy"): _network_operator,
    ("mellanox.com", "NicNodePolicy"): _network_operator,
    **dict.fromkeys(KINDS, _network),
    ("sriovnetwork.openshift.io", "SriovNetworkNodePolicy"): _virtual_functions,
    ("nvidia.com", "ClusterPolicy"): _cluster_policy,
    ("helm.sh", "Release"): _release,
}
"""How to read what a resource provides, by its API group (our own components: module) and kind."""


def supply(stack: Sequence[Resource]) -> Supply:
    """Gather what every resource of a stack provides."""
    total = Supply()
    for resource in stack:
        try:
            if provider := PROVIDERS.get((resource.group, resource.kind)):
                provider(total, resource)
        except Unknown as at:
            total.unsure.append(f"{resource.name}: {at}")
    return total


def _gpu_operator(total: Supply, runtime_class: Field) -> None:
    total.resources.add("nvidia.com/gpu")
    total.label_starts.update(OPERATOR_LABELS["gpu-operator"])
    total.classes.add(str(runtime_class.known() or "nvidia"))


def _texts(labels: Field) -> dict[str, str]:
    return {key: str(value.known()) for key, value in labels.entries()}


def _amounts(resources: Field) -> dict[str, int]:
    """Whole amounts only: extended resources have no others."""
    found = ((name, str(amount.known())) for name, amount in resources.entries())
    return {name: int(amount) for name, amount in found if amount.isdigit()}


def _plugin_resources(text: Field) -> Iterator[str]:
    """Yield the resources that a device plugin's JSON config names; none for any other text."""
    value = text.known()
    try:
        config: Any = json.loads(value) if isinstance(value, str) and value.lstrip().startswith("{") else {}
    except ValueError:
        return
    for key, prefix in DEFAULT_PREFIX.items():
        for entry in config.get(key) or ():
            if isinstance(entry, Mapping) and "resourceName" in entry:
                yield f"{entry.get('resourcePrefix') or prefix}/{entry['resourceName']}"
