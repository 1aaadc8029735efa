"""The fabric in the graph: its order, its size, and how little it is where the cloud serves it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.graph.conftest import config_of

Record = Callable[[str, dict[str, Any]], dict[str, Any]]
COMPONENT = "network"


def of(record: Record, stack: str, pools: dict[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Resources of a stack by name, with some of its pools' keys set."""
    config = config_of(stack)
    # How much it has to store is another matter.
    config.pop("railwright:observability", None)
    for name, keys in (pools or {}).items():
        config["railwright:pools"][name].update(keys)
    return {item["name"]: item for item in record(stack, config)["resources"]}


def test_the_fabric_does_not_grow_with_hosts(record: Record) -> None:
    """A hundred hosts or four thousand: the same objects."""
    kinds = [
        Counter(item["type"] for item in of(record, "bare-b300", {"large": {"hosts": hosts}}).values())
        for hosts in (100, 4000)
    ]
    assert kinds[0] == kinds[1]
    assert kinds[0]["kubernetes:mellanox.com/v1alpha1:MacvlanNetwork"] == 16


def test_hosts_come_first_then_the_operator_then_policies_then_networks(record: Record) -> None:
    """A policy before its definition fails; a network before its policy names what is not there."""
    found = of(record, "bare-b300")
    release = found["network-operator"]
    assert release["depends_on"] == ["network-namespace"]
    policies = [name for name, item in found.items() if item["type"].endswith((":NicClusterPolicy", ":NicNodePolicy"))]
    assert sorted(policies) == ["network-cluster", "network-pool-large", "network-pool-small"]
    assert all("network-operator" in found[name]["depends_on"] for name in policies)
    networks = [item for item in found.values() if item["type"].endswith((":MacvlanNetwork", ":IPPool"))]
    assert len(networks) == 32
    assert all(set(item["depends_on"]) >= set(policies) for item in networks)
    assert "namespace-models" in found[COMPONENT]["depends_on"]


def test_models_wait_for_the_fabric(record: Record) -> None:
    """A pod that needs a device which nobody has registered yet would only hold up the update."""
    found = of(record, "bare-b300")
    assert {"network-pool-large", "network-pool-small"} <= set(found["model-llama-405b"]["depends_on"])


@pytest.mark.parametrize("stack", ["lab", "coreweave-h100", "eks-b300", "gke-b200"])
def test_where_the_cloud_serves_it_there_is_nothing(record: Record, stack: str) -> None:
    """And no plugin that runs on hosts before somebody names its image."""
    assert COMPONENT not in of(record, stack)


def test_the_release_is_of_one_version_from_one_place(record: Record) -> None:
    """Under a name of its own, whole or not at all."""
    inputs = of(record, "bare-b300")["network-operator"]["inputs"]
    assert inputs["chart"].endswith("network-operator-26.4.1.tgz")
    assert inputs["name"] == "network-operator"
    assert (inputs["atomic"], inputs["timeout"]) == (True, 2700)
    assert inputs["values"]["nfd"]["enabled"] is True
