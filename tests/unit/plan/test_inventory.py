"""The inventory: every host of a stack once, read from its outputs, and refused when one is missing or twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.document.inventory import groups, listing
from infra.errors import ConfigError, Unknown
from infra.plan.hosts import HostFacts, Rail
from infra.plan.inventory import Inventory, inventory, same_hosts
from infra.plan.outputs import outputs
from tests.unit.plan.machines import NAMED, machines
from tests.unit.plan.specs import LAB, STACK, plan_of

ROOT = Path("/clone")
SIMULATED = {"pools/far": {"board": "hgx-b300", "hosts": 3, "fabric": "roce"}}


def _outputs(changes: dict[str, Any] | None = None, base: dict[str, Any] = STACK) -> dict[str, Any]:
    """Outputs as they come back from Pulumi."""
    said: dict[str, Any] = json.loads(
        json.dumps(outputs(plan_of({**NAMED, **(changes or {})} if base is STACK else changes, base)))
    )
    return said


def _found(changes: dict[str, Any] | None = None) -> Inventory:
    return inventory(_outputs(changes))


def test_a_host_is_known_with_its_place_and_its_rails() -> None:
    """All that its settings depend on, and where ssh reaches it."""
    host = _found().host("gpus-3")
    assert host == HostFacts(
        name="gpus-3",
        pool="gpus",
        board="hgx-h100",
        fabric="roce",
        leaf="leaf-1",
        machine="metal",
        address="10.0.0.13",
        rack="r1",
        rails=tuple(
            Rail(f"rail{n}", f"0000:{16 + n:02x}:00.0", f"10.{100 + n}.0.13/24", f"10.{100 + n}.0.1") for n in range(8)
        ),
    )
    assert host.rails[7].subnet == "10.107.0.0/24"


def test_a_host_that_is_not_in_the_stack_is_refused() -> None:
    """With the one that was probably meant."""
    with pytest.raises(
        ConfigError, match=r"^host 'gpus-4' — is not in the stack of cluster 'prod' — did you mean 'gpus-"
    ):
        _found().host("gpus-4")


def test_real_hosts_of_the_lab_are_marked_as_sharing_their_kernel() -> None:
    """A play that tunes them would tune the machine under the lab; simulated ones are in no inventory."""
    found = inventory(_outputs(SIMULATED, LAB))
    assert [(pool.name, pool.role, [host.name for host in pool.hosts]) for pool in found.pools] == [
        ("host", "shared", ["lab-0"])
    ]
    assert found.simulated == {"far": 3}
    assert found.ssh_config == ".lab/ssh_config"


def _changed(path: str, value: Any) -> dict[str, Any]:
    said = inner = _outputs()
    *parents, last = path.split("/")
    for parent in parents:
        inner = inner[int(parent) if isinstance(inner, list) else parent]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return said


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("schema_version", 1, "stack outputs — have schema_version 1, this clone reads 2 — run pulumi up"),
        ("schema_version", None, "stack outputs — have schema_version None, this clone reads 2 — run pulumi up"),
        ("pools", None, "stack outputs — pools: missing; add it"),
        ("pools", "[secret]", "stack outputs — pools: '[secret]' is not allowed"),
        ("pools/gpus/hosts", 5, "pool 'gpus' — has 5 hosts and names 4 — name each in pools.gpus.machines"),
        ("pools/gpus/machines", [], "pool 'gpus' — has 4 hosts and names 0 — name each in pools.gpus.machines"),
        ("pools/gpus/machines/3/name", "gpus-0", "host 'gpus-0' — is listed 2 times — name each host once"),
        ("pools/gpus/machines/3/name", None, "stack outputs — pools.gpus.machines.3.name: missing; add it"),
        ("pools/gpus/role", "gpus", "stack outputs — pools.gpus.role: 'gpus' is not allowed; did you mean 'gpu'?"),
    ],
    ids=["old", "no version", "no pools", "sealed", "one missing", "none named", "twice", "nameless", "unknown role"],
)  # fmt: skip
def test_outputs_that_do_not_tell_every_host_once_are_refused(path: str, value: Any, said: str) -> None:
    """A play on the rest would look like one on all."""
    with pytest.raises(ConfigError) as refused:
        inventory(_changed(path, value))
    assert any(problem.startswith(said) for problem in refused.value.problems), refused.value.problems


def test_hosts_that_a_cloud_makes_cannot_be_told() -> None:
    """No stack names them."""
    with pytest.raises(Unknown, match="the hosts of target 'eks' are made by the cloud"):
        inventory(_changed("target", "eks"))


@pytest.mark.parametrize(
    ("deployed", "said"),
    [
        ({"name": "gpus-9"},
         ["host 'gpus-3' — is in the stack file, and not in the outputs — run pulumi up",
          "host 'gpus-9' — is in the outputs, and not in the stack file — drain it, then run pulumi up"]),
        ({"rack": "r2"}, ["host 'gpus-3' — differs between the stack file and the outputs — run pulumi up"]),
    ],
    ids=["another host", "another rack"],
)  # fmt: skip
def test_what_is_deployed_must_be_what_is_planned(deployed: dict[str, Any], said: list[str]) -> None:
    """Else somebody is about to play on a host that is not theirs any more."""
    with pytest.raises(ConfigError) as refused:
        same_hosts(_found(), _found({"pools/gpus/machines": machines(**deployed)}))
    assert list(refused.value.problems) == said


def test_the_deployed_inventory_is_the_planned_one_when_nothing_changed() -> None:
    """What Pulumi keeps as JSON comes back as it went."""
    planned = inventory(outputs(plan_of(NAMED)))
    assert same_hosts(planned, _found()) == planned


def test_hosts_are_grouped_by_all_that_plays_go_by() -> None:
    """Pool, board, fabric, leaf and role."""
    assert {name: hosts for name, (hosts, _) in groups(_found()).items() if name != "pool_gpus"} == {
        "board_hgx_h100": ["gpus-0", "gpus-1", "gpus-2", "gpus-3"],
        "fabric_roce": ["gpus-0", "gpus-1", "gpus-2", "gpus-3"],
        "role_gpu": ["gpus-0", "gpus-1", "gpus-2", "gpus-3"],
        "leaf_leaf_0": ["gpus-0", "gpus-1"],
        "leaf_leaf_1": ["gpus-2", "gpus-3"],
    }


def test_variables_are_typed() -> None:
    """Rails are a list and not a text; labels and taints are those that the node registers with."""
    said = listing(_found(), ROOT)
    host = said["_meta"]["hostvars"]["gpus-0"]
    assert host["ansible_host"] == "10.0.0.10"
    assert host["rdma_rails"][1] == {"interface": "rail1", "pci": "0000:11:00.0", "address": "10.101.0.10/24",
                                     "gateway": "10.101.0.1"}  # fmt: skip
    assert host["kubelet_labels"] == {"railwright.dev/pool": "gpus", "railwright.dev/board": "hgx-h100",
                                      "railwright.dev/fabric": "roce", "railwright.dev/leaf": "leaf-0",
                                      "row": "a"}  # fmt: skip
    pool = said["pool_gpus"]["vars"]
    assert pool["kubelet_taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert (pool["rdma_fabric"], pool["host_machine"], pool["host_role"]) == ("roce", "metal", "gpu")


@pytest.mark.parametrize(
    ("changes", "variable", "value"),
    [
        ({}, "nvidia_driver_nvlink", "nvswitch"),
        ({"pools/gpus/board": "hgx-b300"}, "nvidia_driver_nvlink", "nvlink5"),
        ({"pools/gpus/fabric": "infiniband"}, "rdma_mtu", 4092),
        ({}, "rdma_mtu", None),
    ],
    ids=["board", "another board", "fabric", "the same as the default"],
)
def test_a_pool_is_told_where_the_catalogue_has_another_value_for_it(
    changes: dict[str, Any], variable: str, value: Any
) -> None:
    """Defaults of roles are the same for all; what differs by board or fabric comes with the inventory."""
    variables = listing(_found(changes), ROOT)["pool_gpus"]["vars"]
    assert variables.get(variable) == value


@pytest.mark.parametrize(
    ("ssh_config", "said"),
    [("", None), ("keys/ssh config", '-F "/clone/keys/ssh config" -o BatchMode=yes')],
    ids=["the user's own", "the stack's"],
)
def test_hosts_are_reached_as_the_stack_says(ssh_config: str, said: str | None) -> None:
    """By its ssh configuration, relative to the clone; else by the user's own."""
    found = listing(_found({"cluster/ssh_config": ssh_config}), ROOT)["all"]["vars"]
    assert found.get("ansible_ssh_common_args") == said


def test_a_listing_is_json_that_names_every_host() -> None:
    """As Ansible asks a dynamic inventory."""
    said = json.loads(json.dumps(listing(_found(), ROOT)))
    assert said["all"]["hosts"] == sorted(said["_meta"]["hostvars"]) == ["gpus-0", "gpus-1", "gpus-2", "gpus-3"]


@pytest.mark.parametrize(
    ("network", "said"), [({}, None), ({"pools/gpus/network/mtu": 9_000}, 9_000)], ids=["own", "set"]
)
def test_rails_of_hosts_carry_what_pods_send(network: dict[str, Any], said: int | None) -> None:
    """An interface of a pod cannot have a larger MTU than the one that it stands on."""
    assert listing(_found(network), ROOT)["pool_gpus"]["vars"].get("rdma_mtu") == said
