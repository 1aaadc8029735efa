"""Fabrics that cannot work are refused where they are said, with the fix; what works is let through."""

from __future__ import annotations

from typing import Any

import pytest

from infra.plan.fabric.policies import policies
from infra.plan.refusals.fabric import check_sections
from tests.unit.plan.fabric.stacks import TCPXO, USES, cloud, on
from tests.unit.plan.specs import STACK, all_said, changed, plan_of

POOL = "pools/gpus"
NET = f"{POOL}/network"
BLOCK = "10.128.0.0/16"


def rails(name: str = "rail", first: int = 0) -> list[dict[str, Any]]:
    """Eight rails of a machine, in networks of their own."""
    return [
        {"interface": f"{name}{k}", "pci": f"0000:{k:02x}:00.0", "address": f"10.{k}.0.{first + 1}/24"}
        for k in range(8)
    ]


def machines(**said: Any) -> list[dict[str, Any]]:
    """Four machines on two leaves."""
    return [{"name": f"m{k}", "leaf": f"leaf-{k // 2}", "rails": rails(first=k), **said} for k in range(4)]


def _other(**pool: Any) -> dict[str, Any]:
    """A second pool beside the first."""
    base = {"board": "hgx-h100", "hosts": 4, "fabric": "roce", "network": {"subnet": "10.129.0.0/16"}}
    return {"pools/other": {**base, **pool}}


REFUSED = {
    "mtu beyond the fabric": ({f"{NET}/mtu": 9_300}, "RW-303 pools.gpus.network.mtu", "set it to 4200"),
    "link of another fabric": ({f"{NET}/link": "infiniband"}, "RW-303 pools.gpus.network.link", "one pool has one"),
    "block of another pool": (
        _other(network={"subnet": BLOCK}),
        "RW-303 pools.other.network.subnet",
        "nothing else has an address",
    ),
    "block of pods and services": ({"fabric": {"used": ["10.0.0.0/8"]}}, "RW-303 pools.gpus.network.subnet", "give it"),
    "rails that overlap": (
        {NET: {"subnets": [f"10.{k}.0.0/16" for k in (1, 2, 3, 4, 5, 6, 7, 7)]}},
        "RW-303 pools.gpus.network.subnets",
        "give it a block",
    ),
    "a block too few": (
        {NET: {"subnets": [f"10.{k}.0.0/16" for k in range(7)]}},
        "RW-303 pools.gpus.network.subnets",
        "one for each",
    ),
    "block too small for hosts": ({f"{NET}/subnet": "10.128.0.0/24"}, "RW-303 pools.gpus.network.subnet", "larger"),
    "block too small for rails": ({f"{NET}/subnet": "10.128.0.0/30"}, "RW-303 pools.gpus.network.subnet", "larger"),
    "prefixes too few for hosts": (
        {NET: {"subnet": "10.128.0.0/24", "routed": True}},
        "RW-303 pools.gpus.network.subnet",
        "lower network.addresses_per_host",
    ),
    "block around hosts' own": (
        {f"{POOL}/machines": machines(), f"{NET}/subnet": "10.0.0.0/13"},
        "RW-303 pools.gpus.network.subnet",
        "give it a block",
    ),
    "sriov without functions": ({f"{NET}/mode": "sriov"}, "RW-303 pools.gpus.network.functions", "write how many"),
    "partition on Ethernet": (
        {NET: {"mode": "sriov", "functions": 1, "partition": "0x8002", "subnet": BLOCK}},
        "RW-303 pools.gpus.network.partition",
        "leave it out",
    ),
    "partition that nobody is told": (
        {f"{POOL}/fabric": "infiniband", NET: {"mode": "sriov", "functions": 1, "partition": "0x8002"}},
        "RW-303 fabric.ufm_secret",
        "name the Secret",
    ),
    "network without fabric": ({f"{POOL}/fabric": "none"}, "RW-303 pools.gpus.network", "leave it out"),
    "names too few": ({f"{NET}/interfaces": ["a", "b"]}, "RW-303 pools.gpus.network.interfaces", "name each once"),
    "a rail that hosts name differently": (
        {f"{POOL}/machines": [*machines()[:3], {"name": "x", "leaf": "leaf-1", "rails": rails("eth", 9)}]},
        "RW-303 pools.gpus.machines",
        "one name on all hosts",
    ),
    "fabric that nobody serves": ({f"{POOL}/fabric": "efa", NET: {}}, "RW-301 pools.gpus.fabric", "set it to none"),
    "RoCE without addresses": ({**USES, NET: {}}, "RW-301 pools.gpus.network.subnet", "name a block"),
    "OFED under the host's own way out": (
        {f"{POOL}/machines": machines(uplink_driver="mlx5_core"), "cluster/ownership": "baremetal-operator"},
        "RW-302 pools.gpus.machines.uplink_driver",
        "OFED is the hosts'",
    ),
    "OFED of a version that nobody knows": (
        {"cluster/ownership": "baremetal-operator", "charts/network-operator/version": "26.1.2"},
        "RW-302 charts.network-operator.version",
        "26.4.1",
    ),
    "another MTU on the same leaf": (
        {f"{POOL}/machines": machines()}
        | _other(network={"subnet": "10.129.0.0/16", "mtu": 9_000}, machines=[
            {"name": f"o{k}", "leaf": "leaf-0", "rails": rails(first=20 + k)} for k in range(4)
        ]),
        "RW-303 pools.other.network.mtu",
        "set both to 9000",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("change", "key", "fix"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_work_is_refused(change: dict[str, Any], key: str, fix: str) -> None:
    """One cause, one refusal: the rule, the key at fault, and what to do."""
    (said,) = all_said(change)
    assert said.startswith(f"{key}: ")
    assert fix in said


@pytest.mark.parametrize(
    "change",
    [
        {f"{NET}/mtu": 9_000},
        {f"{NET}/subnet": "10.128.0.0/23"},
        {NET: {"subnets": [f"10.{k}.0.0/24" for k in range(8)]}},
        {f"{POOL}/fabric": "infiniband", NET: {}, **USES},
        {f"{POOL}/machines": machines(uplink_driver="ixgbe"), "cluster/ownership": "baremetal-operator"},
        {f"{POOL}/machines": machines(uplink_driver="mlx5_core")},
        {"charts": {}, "fabric": {"operator": "existing"}, "gpu_operator": {"nfd": "existing"}},
        _other(),
    ],
    ids=["frames", "just enough", "one each", "no addresses", "other NIC", "OFED of hosts", "operator there", "pools"],
)
def test_what_works_is_let_through(change: dict[str, Any]) -> None:
    """The nearest case that works."""
    assert all_said(change) == []


def test_all_of_it_is_told_at_once() -> None:
    """Three mistakes of one pool, three refusals."""
    found = all_said({f"{NET}/mtu": 1_300, f"{NET}/link": "infiniband", f"{NET}/subnet": "10.128.0.0/24"})
    assert sorted(one.split(":")[0].rpartition(".")[2] for one in found) == ["link", "mtu", "subnet"]


@pytest.mark.parametrize(
    ("target", "shape", "network", "key"),
    [
        ("eks", "p6-b300.48xlarge", {"mode": "sriov", "functions": 2}, "network.mode"),
        ("eks", "p6-b300.48xlarge", {"mtu": 9_001}, "network.mtu"),
        ("gke", "a4-highgpu-8g", {"mtu": 8_244}, "network.mtu"),
        ("coreweave", "gd-8xh100ib-i128", {"subnet": "10.1.0.0/16"}, "network.subnet"),
    ],
    ids=["way", "MTU that nobody sets", "MTU of another network", "addresses of no use"],
)
def test_what_a_cloud_has_of_its_own_is_not_to_be_set(
    target: str, shape: str, network: dict[str, Any], key: str
) -> None:
    """With what it has instead."""
    base = changed({f"{POOL}/network": network}, on(target, shape))
    found = [item for item in plan_of(None, base).refusals if item.key.startswith("pools.gpus.network")]
    assert [(item.id, item.key) for item in found] == [("RW-303", f"pools.gpus.{key}")]


@pytest.mark.parametrize(
    ("target", "shape", "devices", "parts"),
    [
        ("eks", "p6-b300.48xlarge", 16, ("efa-plugin",)),
        ("gke", "a4-highgpu-8g", 8, ("gib",)),
        ("gke", "a3-megagpu-8g", 8, TCPXO),
    ],
    ids=["EFA", "gIB", "TCPXO"],
)
def test_a_plugin_that_nobody_brings_is_named(target: str, shape: str, devices: int, parts: tuple[str, ...]) -> None:
    """Each program that is missing, and none once they are there."""
    found = [item for item in cloud(target, shape, devices).refusals if item.key.endswith("rdma_devices")]
    assert [item.id for item in found] == ["RW-301"] * len(parts)
    assert all(f"fabric.images.{part}" in " ".join(item.fix for item in found) for part in parts)
    given = cloud(target, shape, devices, parts).refusals
    assert [item for item in given if item.key.endswith("rdma_devices")] == []


def test_a_plugin_without_digest_is_refused() -> None:
    """It runs with the rights of the host."""
    base = on("eks", "p6-b300.48xlarge", fabric={"images": {"efa-plugin": "mirror.example.com/efa:v1"}})
    found = [item for item in plan_of(None, base).refusals if item.key.startswith("fabric")]
    assert [(item.id, item.key) for item in found] == [("RW-402", "fabric.images.efa-plugin")]


@pytest.mark.parametrize(
    ("mode", "devices", "says"),
    [
        ("sriov", 4, "one device of each of its 8 rails"),
        ("host-device", 1, "one device of each"),
        ("shared", 9, "offers 8"),
    ],
    ids=["functions", "whole", "shared"],
)
def test_a_pod_asks_for_what_the_mode_gives(mode: str, devices: int, says: str) -> None:
    """Where each rail has a resource of its own, half of them would be the same half for every pod."""
    network = {"mode": mode, "subnet": BLOCK, **({"functions": 2} if mode == "sriov" else {})}
    (said,) = all_said({NET: network, "models/chat/rdma_devices": devices})
    assert said.startswith("RW-301 models.chat.rdma_devices: ")
    assert says in said


TWO = {
    **USES,
    f"{POOL}/hosts": 8,
    "models/mail": {**STACK["models"]["chat"], "tensor_parallel": 8, "rdma_devices": 8},
    "keys": {
        "a": {"tenant": "a", "tier": "standard", "models": ["chat"], "secret": "0" * 32},
        "b": {"tenant": "b", "tier": "standard", "models": ["chat", "mail"], "secret": "1" * 32},
    },
}
"""Two models on one pool, one of which answers a tenant that the other does not."""


def test_pods_that_see_each_others_devices_answer_the_same_tenants() -> None:
    """Shared devices are no border between them."""
    (said,) = all_said(TWO)
    assert said.startswith("RW-303 pools.gpus.network.mode: 'shared'")
    assert "'chat' answers a, b, 'mail' answers b" in said


@pytest.mark.parametrize(
    "change",
    [
        {NET: {"mode": "sriov", "functions": 2, "subnet": BLOCK}},
        {"keys/a/models": ["chat", "mail"]},
        {"models/mail/rdma_devices": 0, "models/mail/tensor_parallel": 1},
    ],
    ids=["functions", "same tenants", "one uses the fabric"],
)
def test_tenants_with_borders_share_a_pool(change: dict[str, Any]) -> None:
    """Functions of its own, the same tenants, or nothing to see."""
    assert all_said({**TWO, **change}) == []


def test_two_pools_do_not_share_a_section_of_one_policy() -> None:
    """Before NicNodePolicy there was one section for the whole cluster, and the last writer would win."""
    same, other = _other(), _other(fabric="infiniband", network={"interfaces": [f"ib{k}" for k in range(8)]})
    assert list(check_sections(plan_of(same), "26.1.2")) == []
    (refusal,) = check_sections(plan_of(other), "26.1.2")
    assert (refusal.id, refusal.key) == ("RW-501", "pools.other.network")
    assert "rdmaSharedDevicePlugin" in refusal.found
    assert list(check_sections(plan_of(other), "26.4.0")) == []


def test_an_operator_without_node_policies_has_one_policy() -> None:
    """With the section in it."""
    made = policies(plan_of(_other()), "26.1.2")
    assert [item["kind"] for item in made.values()] == ["NicClusterPolicy"]
    assert "rdmaSharedDevicePlugin" in made["cluster"]["spec"]
