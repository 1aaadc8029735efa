"""Hosts that a cloud would refuse are refused before anything is touched, all of them at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.plan.specs import DROP, STACK, Sections, plan_of, read

AWS = {
    "cluster": "prod",
    "vpc": "vpc-00000001",
    "subnets": {"us-east-1a": "subnet-0000000a"},
    "security_group": "sg-00000001",
    "node_role": "arn:aws:iam::123456789012:role/node",
}

CLOUD: Sections = {
    **STACK,
    "cluster": {"name": "prod", "target": "eks", "region": "us-east-1", "aws": {"existing": AWS}},
    "pools": {"gpus": {"shape": "p5.48xlarge", "hosts": 4, "zone": "us-east-1a"}},
}
"""Four hosts of p5.48xlarge in one zone."""


def _refused(changes: dict[str, Any], base: Sections = CLOUD) -> list[str]:
    return [str(refusal) for refusal in plan_of(changes, base).refusals]


def test_a_shape_brings_board_and_fabric() -> None:
    """Neither is written twice; CPUs and rails are the machine type's, not the reference system's."""
    (pool,) = plan_of(base=CLOUD).pools
    assert (pool.pool.board, pool.pool.fabric) == ("hgx-h100", "efa")
    assert (pool.board.cpus, pool.rdma_devices, pool.rdma_resource) == (192, 32, "vpc.amazonaws.com/efa")
    assert _refused({}) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shape": "p6"}, "shape: 'p6' is no machine type with GPUs of target eks that is known; name one of "
                          "p6-b200.48xlarge, p6-b300.48xlarge, p6e-gb200.36xlarge"),
        ({"shape": "p6-b30.48xlarge"}, "did you mean 'p6-b300.48xlarge'?"),
        ({"shape": "a4-highgpu-8g"}, "shape: 'a4-highgpu-8g' is sold on target gke, this stack is on eks"),
        ({"board": "hgx-h200"}, "board: 'hgx-h200', p5.48xlarge has hgx-h100; leave it out"),
        ({"fabric": "roce"}, "fabric: 'roce', hosts of p5.48xlarge are joined by efa"),
        ({"zone": ""}, "zone: missing, and a fabric does not reach from one zone to another"),
        ({"supply": {"kind": "flex-start"}}, "supply.kind: 'flex-start', p5.48xlarge is had on-demand or reservation"),
        ({"supply": {"kind": "reservation", "reservation": "cr-00000001", "hosts": 3}},
         "hosts: 4, reservation 'cr-00000001' holds 3; lower it to 3, or extend the reservation"),
        ({"supply": {"kind": "capacity-block", "reservation": "cr-00000002", "zone": "us-east-1b"}},
         "zone: 'us-east-1a', reservation 'cr-00000002' is in 'us-east-1b'; set it to us-east-1b"),
    ],
    ids=["a family", "mistyped", "another cloud", "another board", "another fabric", "no zone", "not sold so",
         "more than booked", "booked elsewhere"],
)  # fmt: skip
def test_what_a_cloud_would_refuse(changes: dict[str, Any], said: str) -> None:
    """With what is allowed and what to do (parallelcluster#7143, global-capacity-orchestrator#68)."""
    refused = _refused({f"pools/gpus/{key}": value for key, value in changes.items()})
    assert [one for one in refused if one.startswith("RW-303 pools.gpus.") and said in one], refused


def test_all_of_it_is_told_at_once() -> None:
    """Three mistakes, three refusals."""
    wrong = {"board": "hgx-h200", "fabric": "infiniband", "zone": ""}
    found = _refused({f"pools/gpus/{key}": value for key, value in wrong.items()})
    assert [one.split(":")[0] for one in found] == [f"RW-303 pools.gpus.{key}" for key in wrong]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cluster/aws": DROP}, "RW-303 cluster.aws: missing, and pools of target eks go into a cluster; say under "),
        ({"pools/gpus/zone": "us-east-1c"}, "RW-303 pools.gpus.zone: 'us-east-1c' has no subnet under "
                                            "cluster.aws.existing.subnets; did you mean 'us-east-1a'?"),
        ({"cluster/target": "baremetal"}, "RW-303 cluster.aws: is of target eks, this stack is on baremetal"),
    ],
    ids=["no cluster", "a zone without subnet", "hosts of your own"],
)  # fmt: skip
def test_pools_go_into_a_cluster_that_is_there(changes: dict[str, Any], said: str) -> None:
    """With a network in their zone."""
    assert any(one.startswith(said) for one in _refused(changes)), _refused(changes)


def test_hosts_of_your_own_have_no_machine_type() -> None:
    """Nor is their capacity booked anywhere."""
    changes = {"pools/gpus/shape": "p5.48xlarge", "pools/gpus/fabric": "roce"}
    assert any("'p5.48xlarge' on a target without machine types" in one for one in _refused(changes, STACK))


@pytest.mark.parametrize(
    ("supply", "said"),
    [
        ({"kind": "reservation"}, "name it under reservation"),
        ({"reservation": "cr-00000001"}, "set kind to reservation or capacity-block"),
    ],
)
def test_what_is_booked_has_a_name(supply: dict[str, str], said: str) -> None:
    """And what is not has none."""
    assert any(said in problem for problem in read({"pools/gpus/supply": supply}, CLOUD).problems)


@pytest.mark.parametrize(
    ("name", "said"),
    [("eks-ubuntu", ""), ("gke-cos", "is of target gke, this stack is on eks"), ("eks-al2024", "'eks-al2023'")],
)
def test_the_owner_of_a_driver_is_one_that_the_target_has(name: str, said: str) -> None:
    """Of another target's hosts nothing holds here (RW-302)."""
    refused = [one for one in _refused({"cluster/ownership": name}) if one.startswith("RW-302 cluster.ownership")]
    assert [said in one for one in refused] == [True] * bool(said)


def test_pods_name_a_runtime_class_only_where_there_is_one() -> None:
    """In EKS's image with driver and toolkit the default runtime has the GPUs."""
    assert [plan_of({"cluster/ownership": name}, CLOUD).pools[0].runtime_class for name in ("", "eks-ubuntu")] == [
        "", "nvidia"
    ]  # fmt: skip
