"""What any stack asks of a cloud is what Pulumi's provider for it takes, and no more than it has to."""

from __future__ import annotations

from typing import Any

import pytest

from infra.plan.resources import Resource
from tests.contracts.clouds import CASES, EXAMPLES, made, plan, resources
from tests.contracts.pulumi_types import problems

EACH = pytest.mark.parametrize("case", CASES)


@EACH
def test_a_case_is_one_that_is_not_refused(case: str) -> None:
    """Otherwise nothing would ever be asked."""
    refusals = [str(item) for item in plan(CASES[case]).refusals if not item.key.startswith("models")]
    assert refusals == []


@EACH
def test_every_resource_is_one_that_its_provider_knows(case: str) -> None:
    """Each field at any depth is there, of its type, within its enumeration, and none that must be is missing."""
    asked = resources(plan(CASES[case]))
    assert asked
    assert [problem for item in asked for problem in problems(item)] == []


@EACH
def test_every_resource_stands_after_those_that_it_needs(case: str) -> None:
    """And no two have one name."""
    known: list[str] = []
    for item in resources(plan(CASES[case])):
        assert {ref.resource for ref in item.refs} | set(item.after) <= set(known)
        known.append(item.name)
    assert len(known) == len(set(known))


@pytest.mark.parametrize(
    ("token", "props", "said"),
    [
        ("azure-native:containerservice:AgentPool", {"gpuProfil": {}}, "no such field"),
        ("azure-native:containerservice:AgentPool", {"gpuProfile": {"driver": "none"}}, "not of GPUDriver"),
        ("azure-native:containerservice:AgentPool", {"upgradeSettings": {"maxSurge": 0}}, "is no str"),
        ("gcp:container/nodePool:NodePool", {"nodeConfig": {"guestAccelerators": [{"count": 8}]}}, "type: missing"),
        ("oci:Core/clusterNetwork:ClusterNetwork", {"instancePools": [{"size": "16"}]}, "size: '16' is no int"),
        ("aws:eks/nodeGroup:NodeGroup", {"taints": {"key": "a"}}, "is no list"),
    ],
)
def test_a_mistake_is_found(token: str, props: dict[str, Any], said: str) -> None:
    """So that the test above can fail."""
    assert any(said in problem for problem in problems(Resource(token, "wrong", props)))


@pytest.mark.parametrize("target", EXAMPLES)
def test_a_cluster_that_is_made_does_not_grow_with_hosts(target: str) -> None:
    """Two hosts or sixteen: as many resources."""
    counts = []
    for hosts in (2, 16):
        said = made(target)
        for pool in said["pools"].values():
            pool |= {"hosts": hosts, "supply": {"kind": "on-demand"}}
        counts.append(len(resources(plan(said))))
    assert counts[0] == counts[1]


@EACH
def test_no_host_of_a_pool_has_a_successor_beside_it(case: str) -> None:
    """There is no capacity for one: what holds hosts goes before its replacement comes."""
    holders = ("NodeGroup", "NodePool", "AgentPool", "ClusterNetwork", "ComputeGpuMemoryCluster")
    held = [item for item in resources(plan(CASES[case])) if item.token.endswith(tuple(f":{kind}" for kind in holders))]
    pools = [item for item in held if item.name.startswith("pool-")]
    assert pools
    assert [item.name for item in pools if not item.lifecycle.delete_before_replace] == []


@EACH
def test_a_pool_on_gke_outlives_another_way_to_its_driver(case: str) -> None:
    """GKE cannot change it in place; a pool would be emptied for it (terraform-provider-google#23248)."""
    asked = resources(plan(CASES[case]))
    pools = [item for item in asked if item.token.endswith(":NodePool") and item.token.startswith("gcp:")]
    with_gpus = [item for item in pools if "guestAccelerators" in item.props["nodeConfig"]]
    assert len(with_gpus) > 0 or not case.startswith("gke")
    path = "nodeConfig.guestAccelerators[0].gpuDriverInstallationConfig"
    assert [item.name for item in with_gpus if path not in item.lifecycle.ignore] == []


@pytest.mark.parametrize("target", EXAMPLES)
def test_a_reservation_that_is_made_is_kept_whatever_happens(target: str) -> None:
    """Capacity that is given back may never be had again; hosts name it."""
    asked = resources(plan(CASES[f"{target}-reserved"]))
    kept = [item for item in asked if "-reservation" in item.name]
    assert kept
    assert all(item.lifecycle.protect and item.lifecycle.retain for item in kept)
    named = {ref.resource for item in asked if item not in kept for ref in item.refs}
    assert kept[0].name in named
