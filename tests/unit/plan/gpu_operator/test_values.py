"""Values of the chart follow from who owns what, from the fabric, and from the pools."""

from __future__ import annotations

from typing import Any

import pytest

from infra.plan.gpu_operator.objects import DIGEST, drivers, ground
from infra.plan.gpu_operator.values import merged, values
from infra.plan.labels import MIG_LABEL, OPT_OUT_LABEL, host_labels, own_labels
from infra.plan.manifests.observability.gpu_exporter import counters
from tests.unit.plan.specs import plan_of

OURS = {"cluster/ownership": "baremetal-operator"}
OTHER = {"board": "hgx-h200", "hosts": 2}


@pytest.mark.parametrize(
    ("ownership", "driver", "toolkit", "rdma"),
    [
        ("baremetal", False, True, None),
        ("baremetal-operator", True, True, {"enabled": True, "useHostMofed": False}),
    ],
)
def test_each_part_is_on_where_the_operator_owns_it(ownership: str, driver: bool, toolkit: bool, rdma: Any) -> None:
    """And nowhere else."""
    made = values(plan_of({"cluster/ownership": ownership}))
    assert (made["driver"]["enabled"], made["toolkit"]["enabled"], made["devicePlugin"]["enabled"]) == (
        driver,
        toolkit,
        True,
    )
    assert made["driver"].get("rdma") == rdma


def test_peermem_stays_off_without_a_fabric() -> None:
    """There is nothing that it could reach."""
    assert values(plan_of({**OURS, "pools/gpus/fabric": "none"}))["driver"]["rdma"]["enabled"] is False


def test_one_of_both_operators_brings_nfd() -> None:
    """The one that comes first."""
    assert values(plan_of())["nfd"]["enabled"] is False
    assert values(plan_of({"pools/gpus/fabric": "none"}))["nfd"]["enabled"] is True
    assert values(plan_of({"pools/gpus/fabric": "none", "gpu_operator": {"nfd": "existing"}}))["nfd"] == {
        "enabled": False
    }


def test_the_operators_own_pod_stays_off_pools_that_it_leaves_alone() -> None:
    """A host that is not its business may go at any time."""
    made = values(plan_of({"pools/other": {**OTHER, "gpu_operator": {"operated": False}}}))
    (term,) = made["operator"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term["matchExpressions"] == [{"key": "railwright.dev/pool", "operator": "NotIn", "values": ["other"]}]


def test_a_pool_that_is_left_alone_says_so_on_its_hosts() -> None:
    """By a label of ours, although its name starts as the operator's do."""
    plan = plan_of({"pools/other": {**OTHER, "gpu_operator": {"operated": False}}})
    assert [own_labels(pool).get(OPT_OUT_LABEL) for pool in plan.pools] == [None, "false"]


def test_a_split_pool_says_how_on_its_hosts() -> None:
    """The MIG manager, which else has nothing to do, acts on it."""
    plan = plan_of({"pools/other": {**OTHER, "gpu_operator": {"mig": "all-balanced"}}})
    assert [host_labels(pool).get(MIG_LABEL) for pool in plan.pools] == [None, "all-balanced"]
    assert values(plan)["migManager"]["enabled"] is True
    assert values(plan_of())["migManager"]["enabled"] is False


def test_the_operators_exporter_reads_our_counters() -> None:
    """Its own list lacks what our alerts ask for."""
    plan = plan_of({"observability": {"storage": {"size_gib": 10}, "gpu_exporter": "operator"}})
    exporter, objects = values(plan)["dcgmExporter"], ground(plan)
    assert (exporter["enabled"], exporter["serviceMonitor"]["enabled"]) == (True, False)
    assert exporter["config"]["name"] == objects["counters"]["metadata"]["name"]
    assert objects["counters"]["data"] == {"dcgm-metrics.csv": counters()}


def test_two_exporters_never_run() -> None:
    """Where this stack runs one, the operator's is off."""
    plan = plan_of({"observability": {"storage": {"size_gib": 10}}})
    assert values(plan)["dcgmExporter"]["enabled"] is False
    assert "counters" not in ground(plan)


def test_pools_with_drivers_of_their_own_get_one_each() -> None:
    """Each for its own hosts, none by default, and the chart makes none beside them."""
    plan = plan_of({**OURS, "pools/other": {**OTHER, "gpu_operator": {"driver": {"version": "580.173.02"}}}})
    made = drivers(plan)
    assert {name: item["spec"]["version"] for name, item in made.items()} == {
        "gpus": "595.91.07",
        "other": "580.173.02",
    }
    assert [item["spec"]["nodeSelector"] for item in made.values()] == [
        {"railwright.dev/pool": "gpus"},
        {"railwright.dev/pool": "other"},
    ]
    assert values(plan)["driver"]["nvidiaDriverCRD"] == {"enabled": True, "deployDefaultCR": False}


def test_the_digest_of_a_driver_follows_all_that_is_said_of_it() -> None:
    """So that who waits knows the old one from the new one."""
    seen = set()
    for version in ("580.173.02", "595.91.07"):
        plan = plan_of({**OURS, "pools/gpus/gpu_operator": {"driver": {"version": version}}})
        seen.add(drivers(plan)["gpus"]["spec"]["annotations"][DIGEST])
    assert len(seen) == 2


def test_the_dra_stack_takes_the_place_of_the_device_plugin() -> None:
    """And has compute domains only where NVLink spans hosts."""
    made = values(plan_of({**OURS, "models": {}, "gpu_operator": {"dra": True}}))
    assert (made["clusterPolicy"]["deployCR"], made["gpuCluster"]["deployCR"]) == (False, True)
    assert made["draDriver"]["computeDomains"]["enabled"] is False


def test_pods_get_their_whole_grace_before_a_driver_goes() -> None:
    """A minute more than the engine with the longest."""
    plan = plan_of(OURS)
    grace = max(model.shutdown.grace for model in plan.models)
    assert values(plan)["driver"]["upgradePolicy"]["gpuPodDeletion"]["timeoutSeconds"] == max(grace, 240) + 60


def test_a_mirror_has_the_images_of_all_parts() -> None:
    """None is left that would be fetched from elsewhere."""
    made = values(plan_of({**OURS, "gpu_operator": {"registry": "mirror.example.com/nvidia"}}))
    assert made["toolkit"]["repository"] == "mirror.example.com/nvidia/k8s"
    assert made["driver"]["repository"] == "mirror.example.com/nvidia"
    assert made["driver"]["manager"]["repository"] == "mirror.example.com/nvidia/cloud-native"


def test_layers_of_values_are_put_together_as_helm_does() -> None:
    """Deep mappings are joined, everything else is replaced."""
    assert merged({"a": {"b": 1, "c": [1]}, "d": 1}, {"a": {"c": [2]}, "e": 2}) == {
        "a": {"b": 1, "c": [2]},
        "d": 1,
        "e": 2,
    }
