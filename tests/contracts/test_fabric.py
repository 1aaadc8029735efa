"""What a stack's fabric asks of a cluster is what the published definitions take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.catalog.fabrics import ACCESSES
from infra.catalog.fabrics.functions import ROOT_DEVICES
from infra.catalog.fabrics.images import PARTS
from infra.catalog.host_tuning import SETTINGS
from infra.catalog.shapes import SHAPES
from infra.config.fabric import PartName
from infra.plan.fabric.objects import fabric_objects
from infra.plan.facts import Plan
from infra.targets.choice import target_of
from tests.contracts.definitions import is_defined, mistakes
from tests.unit.plan.fabric.stacks import EVERY

VERSION = "26.4.1"
"""Of the definitions in tests/contracts/crds."""

plans = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY.keys())


def _objects(plan: Plan) -> list[dict[str, Any]]:
    made = fabric_objects(plan, VERSION)
    return [*made.policies.values(), *made.networks.values()]


@plans
def test_every_object_is_one_that_its_definition_takes(make: Callable[[], Plan]) -> None:
    """Every field is known and of its type; the API server itself would drop an unknown one in silence."""
    said = {item["metadata"]["name"]: mistakes(item) for item in _objects(make())}
    assert {name: found for name, found in said.items() if found} == {}


@plans
def test_what_is_planned_works(make: Callable[[], Plan]) -> None:
    """Nothing of it is refused, so that the test above is about stacks that can be had."""
    assert [str(item) for item in make().refusals if item.key.startswith(("pools", "fabric", "charts"))] == []


def test_the_judge_finds_mistakes() -> None:
    """So that the tests above can fail: an unknown field, a wrong type, a namespace that does not belong."""
    network = next(item for item in _objects(EVERY["shared roce"]()) if item["kind"] == "MacvlanNetwork")
    assert is_defined(network)
    wrong = {**network, "metadata": {"name": "x", "namespace": "y"}, "spec": {"mtuu": 1, "mtu": "4200"}}
    found = " ".join(mistakes(wrong))
    assert all(word in found for word in ("mtuu", "is not of type 'integer'", "Cluster"))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=lambda shape: shape.name)
def test_every_machine_type_has_a_way_to_its_fabric(shape: Any) -> None:
    """With the resource that its row names."""
    ways = [
        row
        for row in ACCESSES
        if (row.target, row.fabric, row.transport) == (shape.target, shape.fabric, shape.transport)
    ]
    assert ways
    assert ways[0].resource == shape.rdma_resource


def test_every_way_says_where_it_is_from() -> None:
    """And no two are the same."""
    assert [row for row in ACCESSES if not row.source] == []
    keys = [(row.target, row.fabric, row.transport, row.mode) for row in ACCESSES]
    assert len(keys) == len(set(keys))


def test_programs_have_a_name_in_the_spec() -> None:
    """Each that a way needs can be given an image."""
    assert {part for row in ACCESSES for part in row.parts} == set(PARTS) == set(PartName.__args__)


def test_machine_types_with_functions_have_a_nic_for_each_rail() -> None:
    """Of those whose functions the cloud makes."""
    counts = {name: len(devices) for name, devices in ROOT_DEVICES.items()}
    assert counts == {name: SHAPES[name].rails for name in counts}


def test_traffic_of_pods_is_marked_as_hosts_expect_it() -> None:
    """The class that flow control is on for is one number, on hosts and in NCCL's environment."""
    (tos,) = [setting for setting in SETTINGS if setting.id == "rdma.tos"]
    roce = [row for row in ACCESSES if (row.target, row.fabric) == ("baremetal", "roce")]
    assert {row.env["NCCL_IB_TC"] for row in roce} == {str(tos.value)}


def test_the_mtu_of_pods_is_that_of_hosts() -> None:
    """An interface of a pod cannot carry more than the one that it stands on."""
    (mtu,) = [setting for setting in SETTINGS if setting.id == "rdma.mtu"]
    defaults = {row.fabric: row.mtu for row in ACCESSES if row.target == "baremetal"}
    assert defaults == {"roce": mtu.value, "infiniband": mtu.cases[0].value}


@pytest.mark.parametrize("kind", ["gib", "tcpxo"])
def test_networks_that_pods_name_are_there(kind: str) -> None:
    """On GKE, by the names that the cluster's objects have."""
    import json

    from infra.plan.fabric.pod import GKE_INTERFACES, pod_fabric

    plan = EVERY[kind]()
    (pool,) = plan.pools
    names = {nic.card: f"{nic.kind}-{nic.card}" for nic in pool.shape.nics} if pool.shape else {}
    asked = json.loads(pod_fabric(pool, 8).annotations[GKE_INTERFACES])
    assert [item["network"] for item in asked[1:]] == [names[int(item["interfaceName"][3:])] for item in asked[1:]]
    assert len(asked) == 9
    assert target_of(plan) is not None
