"""Objects of a fabric: each section once, addresses that suffice, an order that works."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from infra.plan.fabric.objects import fabric_objects, is_needed
from infra.plan.fabric.policies import SECTIONS
from infra.plan.fabric.rails import rails_of
from infra.plan.fabric.release import values
from infra.plan.facts import Plan
from infra.plan.labels import TENANT, host_taints
from tests.unit.plan.fabric.stacks import EVERY, USES, metal
from tests.unit.plan.specs import LAB, plan_of

VERSION = "26.4.1"

plans = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())


def _kinds(plan: Plan) -> dict[str, list[dict[str, Any]]]:
    made = fabric_objects(plan, VERSION)
    found: dict[str, list[dict[str, Any]]] = {}
    for item in (*made.policies.values(), *made.networks.values(), *made.installers.values()):
        found.setdefault(item["kind"], []).append(item)
    return found


@plans
def test_a_section_is_in_one_kind_of_policy(make: Callable[[], Plan]) -> None:
    """In both, the operator's webhook refuses one of them."""
    kinds = _kinds(make())
    in_cluster = {key for item in kinds.get("NicClusterPolicy", []) for key in item["spec"]}
    assert in_cluster & set(SECTIONS) == set()


@plans
def test_the_number_of_objects_does_not_grow_with_hosts(make: Callable[[], Plan]) -> None:
    """Four hosts or as many as the block holds."""
    plan = make()
    counts = {kind: len(items) for kind, items in _kinds(plan).items()}
    assert all(count <= max(len(plan.pools) * 9, 16) for count in counts.values())


@pytest.mark.parametrize("hosts", [1, 4, 127, 1_000])
@pytest.mark.parametrize("network", [{}, {"gateway": "first"}, {"routed": True}], ids=["flat", "router", "routed"])
def test_a_block_that_is_let_through_has_addresses_for_every_host(hosts: int, network: dict[str, Any]) -> None:
    """Dealt as nv-ipam deals: parts of one size from the second address on, whole excluded ones left out."""
    plan = plan_of({**USES, "pools/gpus/hosts": hosts, "pools/gpus/network": {"subnet": "10.64.0.0/10", **network}})
    kind = "CIDRPool" if network.get("routed") else "IPPool"
    for pool in _kinds(plan)[kind]:
        spec = pool["spec"]
        block = ip_network(spec.get("subnet") or spec["cidr"])
        if kind == "CIDRPool":
            assert 2 ** (spec["perNodeNetworkPrefix"] - block.prefixlen) >= hosts
            # The network's own address, the last one, and the leaf are not for pods.
            assert 2 ** (32 - spec["perNodeNetworkPrefix"]) - 3 >= 8
            continue
        size, start, given = spec["perNodeBlockSize"], int(block[1]), 0
        out = {int(ip_address(item["startIP"])) for item in spec.get("exclusions", [])}
        while given < hosts:
            assert start + size - 1 < int(block.broadcast_address)
            given, start = given + (start not in out), start + size


@pytest.mark.parametrize(("subnet", "holds"), [("10.0.0.0/24", 3), ("10.0.0.0/23", 7), ("10.0.0.0/22", 15)])
def test_a_rail_holds_as_many_hosts_as_its_part_has_room_for(subnet: str, holds: int) -> None:
    """An eighth of the block each, less two addresses, eight pods to a host."""
    (pool,) = metal(subnet=subnet).pools
    assert {rail.holds for rail in rails_of(pool)} == {holds}


def test_a_host_with_one_address_takes_two() -> None:
    """Its own and its leaf's: a prefix of two has neither network nor last address."""
    kinds = _kinds(metal("host-device", routed=True))
    specs = [item["spec"] for item in kinds["CIDRPool"]]
    assert {(spec["perNodeNetworkPrefix"], spec["gatewayIndex"]) for spec in specs} == {(31, 0)}


def test_each_rail_goes_by_its_own_interface() -> None:
    """The k-th network stands on the k-th NIC of every host."""
    kinds = _kinds(metal(interfaces=[f"ens{k}" for k in range(8)]))
    assert [item["spec"]["master"] for item in kinds["MacvlanNetwork"]] == [f"ens{k}" for k in range(8)]
    (policy,) = kinds["NicNodePolicy"]
    (entry,) = json.loads(policy["spec"]["rdmaSharedDevicePlugin"]["config"])["configList"]
    assert entry["selectors"]["ifNames"] == [f"ens{k}" for k in range(8)]
    assert entry["rdmaHcaMax"] == 8


def test_a_driver_waits_for_the_longest_answer() -> None:
    """A host is empty before its NIC driver goes, however long its pods may take to leave."""
    changes = {**USES, "cluster/ownership": "baremetal-operator", "models/chat/grace": "1h"}
    (policy,) = _kinds(plan_of(changes))["NicNodePolicy"]
    upgrade = policy["spec"]["ofedDriver"]["upgradePolicy"]
    assert (upgrade["safeLoad"], upgrade["maxParallelUpgrades"]) == (True, 1)
    assert upgrade["drain"]["timeoutSeconds"] == 3_600


def test_policies_are_awaited() -> None:
    """Ready, as the operator says it, for as long as hosts may take."""
    for item in (*_kinds(metal())["NicClusterPolicy"], *_kinds(metal())["NicNodePolicy"]):
        notes = item["metadata"]["annotations"]
        assert notes["pulumi.com/waitFor"] == "jsonpath={.status.state}=ready"
        assert int(notes["pulumi.com/timeoutSeconds"]) >= 45 * 60


@pytest.mark.parametrize(
    ("make", "nfd", "functions"),
    [(EVERY["shared roce"], True, False), (EVERY["functions roce"], True, True)],
    ids=["shared", "functions"],
)
def test_the_release_brings_what_its_pools_need(make: Callable[[], Plan], nfd: bool, functions: bool) -> None:
    """NFD, by whose labels policies find NICs, and the operator of functions only where there are any."""
    said = values(make())
    assert (said["nfd"]["enabled"], said["sriovNetworkOperator"]["enabled"]) == (nfd, functions)


def test_a_target_that_serves_its_fabric_needs_nothing() -> None:
    """The lab, CoreWeave, and EFA while nobody named the plugin."""
    assert not is_needed(plan_of(base=LAB))
    assert not is_needed(EVERY["coreweave"]())


@pytest.mark.parametrize("kind", ["efa", "gib", "tcpxo"])
def test_programs_of_clouds_run_on_their_pools_only(kind: str) -> None:
    """By the pool's label, and past the taint of GPU hosts; no token, images by digest."""
    for item in _kinds(EVERY[kind]())["DaemonSet"]:
        pod = item["spec"]["template"]["spec"]
        (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert term["matchExpressions"][0]["values"] == ["gpus"]
        assert pod["automountServiceAccountToken"] is False
        containers = [*pod.get("initContainers", []), *pod["containers"]]
        assert all("@sha256:" in container["image"] for container in containers)


def test_the_efa_plugin_has_no_rights() -> None:
    """It only talks to the kubelet."""
    (item,) = _kinds(EVERY["efa"]())["DaemonSet"]
    (container,) = item["spec"]["template"]["spec"]["containers"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_images_of_the_operator_come_from_a_mirror() -> None:
    """All of them, for clusters that reach no other registry."""
    plan = plan_of({**USES, "fabric": {"registry": "mirror.example.com/nvidia"}})
    assert "nvcr.io" not in json.dumps(_kinds(plan))
    assert values(plan)["operator"] == {"repository": "mirror.example.com/nvidia"}


@plans
def test_what_serves_a_fabric_gets_onto_hosts_of_one_tenant(make: Callable[[], Plan]) -> None:
    """Their taint keeps off what does not tolerate it, and the pool's pods would wait for devices for ever."""
    shared = make()
    own = tuple(replace(pool, pool=pool.pool.model_copy(update={"tenant": "research"})) for pool in shared.pools)
    kinds = _kinds(replace(shared, pools=own))
    tainted = {taint["key"] for pool in own for taint in host_taints(pool)}
    assert TENANT in tainted
    pods = [item["spec"] for kind in ("NicClusterPolicy", "NicNodePolicy") for item in kinds.get(kind, [])]
    pods += [item["spec"]["template"]["spec"] for item in kinds.get("DaemonSet", [])]
    assert [tainted - {one["key"] for one in pod["tolerations"]} for pod in pods] == [set()] * len(pods)
