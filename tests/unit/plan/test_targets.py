"""What each target asks for so that a pool's hosts exist."""

from __future__ import annotations

from typing import Any

from infra.targets.choice import target_of
from tests.unit.plan.specs import STACK, Sections, plan_of

CKS: Sections = {
    **STACK,
    "cluster": {"name": "prod", "target": "coreweave"},
    "pools": {"gpus": {"shape": "gd-8xh100ib-i128", "hosts": 4, "zone": "us-east-04a", "labels": {"row": "a"}}},
}
"""Four hosts of CoreWeave."""


def _node_pool(changes: dict[str, Any] | None = None) -> dict[str, Any]:
    plan = plan_of(changes, CKS)
    return dict(target_of(plan).pool_objects(plan.pools[0])["hosts"])


def test_a_pool_on_coreweave_is_one_object() -> None:
    """With the fields of CKS's reference, our own labels and no one else's."""
    made = _node_pool()
    assert (made["apiVersion"], made["kind"]) == ("compute.coreweave.com/v1alpha1", "NodePool")
    assert (made["spec"]["instanceType"], made["spec"]["targetNodes"]) == ("gd-8xh100ib-i128", 4)
    assert made["spec"]["nodeLabels"]["row"] == "a"
    assert {key.partition("/")[0] for key in made["spec"]["nodeLabels"]} == {"row", "railwright.dev"}


def test_another_machine_type_on_coreweave_is_another_object() -> None:
    """CKS refuses to change it in place."""
    other = _node_pool({"pools/gpus/shape": "gd-8xh200ib-i128"})
    assert other["metadata"]["name"] != _node_pool()["metadata"]["name"]


def test_the_fabric_of_coreweave_is_asked_for_by_a_flag() -> None:
    """rdma/ib: 1 brings all cards; a count of them would never be there."""
    (pool,) = plan_of(base=CKS).pools
    assert (pool.rdma_resource, pool.rdma_devices, pool.board.rails) == ("rdma/ib", 1, 8)
