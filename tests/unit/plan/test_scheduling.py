"""Pods go where the plan puts them: whole hosts, own tenants, best tiers first, queues with what they were given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.catalog.leaves import LEAF_LABELS
from infra.catalog.targets import TARGETS
from infra.config.scheduling import Kueue
from infra.plan.manifests import kueue
from infra.plan.manifests.model import objects
from infra.plan.manifests.scheduling import priority_classes
from infra.plan.refusals.scheduling import looked_at
from tests.contracts.definitions import mistakes
from tests.unit.plan.specs import LAB, STACK, Sections, model_of, plan_of

CHAT = STACK["models"]["chat"]
KEY = {"tenant": "other", "secret": "fedcba9876543210fedcba9876543210"}
TWO: Sections = {**STACK, "models": {"chat": CHAT, "large": {**CHAT, "tensor_parallel": 8}}}
"""A model of one GPU and one of a whole host on one pool."""
QUEUED: Sections = {
    **TWO,
    "scheduling": {"kueue": {"install": False}},
    "models": {**TWO["models"], "nightly": {**CHAT, "tier": "batch", "tensor_parallel": 4}},
}
"""With Kueue, in two tiers."""


def _pod(base: Sections = STACK, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    pod: dict[str, Any] = objects(model_of(changes, base), ["gateway"])["deploy"]["spec"]["template"]["spec"]
    return pod


def test_a_small_model_leaves_whole_hosts_to_others() -> None:
    """Its replicas share hosts with each other and never with another model's."""
    affinity = _pod()["affinity"]
    (apart,) = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (beside,) = affinity["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert apart["labelSelector"]["matchExpressions"][0]["values"] == ["chat"]
    assert beside["podAffinityTerm"]["labelSelector"]["matchLabels"]["app.kubernetes.io/name"] == "chat"
    assert {apart["topologyKey"], beside["podAffinityTerm"]["topologyKey"]} == {"kubernetes.io/hostname"}


def test_a_model_that_comes_later_changes_no_pod_of_the_first() -> None:
    """Else each new model would restart all others of its pool."""
    assert _pod(STACK) == _pod(TWO)


@pytest.mark.parametrize(
    ("target", "ranks", "keys"),
    [
        ("baremetal", 8, ["kubernetes.io/hostname", "railwright.dev/leaf"]),
        ("baremetal", 1, ["railwright.dev/pool"]),
    ],
    ids=["whole hosts", "shares of hosts"],
)
def test_only_whole_hosts_are_spread(target: str, ranks: int, keys: list[str]) -> None:
    """Over the leaves that the target knows; small replicas are packed, as the plan counts their hosts."""
    pod = _pod(STACK, {"cluster/target": target, "models/chat/tensor_parallel": ranks})
    assert [item["topologyKey"] for item in pod["topologySpreadConstraints"]] == keys


@pytest.mark.parametrize(
    ("changes", "tier"),
    [
        ({}, "standard"),
        ({"keys/best": {**KEY, "tier": "premium"}}, "premium"),
        ({"keys/best": {**KEY, "tier": "premium", "models": ["large"]}}, "standard"),
        ({"keys/team/tier": "batch"}, "batch"),
        ({"models/chat/tier": "batch"}, "batch"),
        ({"keys": {}}, "standard"),
    ],
    ids=["one key", "best of two", "key of another", "batch alone", "said", "no key"],
)
def test_pods_rank_as_the_best_key_that_opens_them(changes: dict[str, Any], tier: str) -> None:
    """Unless the model says its tier itself."""
    plan = plan_of(changes, TWO).models[0]
    assert objects(plan, ())["deploy"]["spec"]["template"]["spec"]["priorityClassName"] == f"railwright-{tier}"


def test_batch_gives_way_and_pushes_nobody_out() -> None:
    """Even to pods without any class, whose priority is 0."""
    found = {name: (item["value"], item["preemptionPolicy"]) for name, item in priority_classes().items()}
    assert found["priority-batch"][0] < 0 < found["priority-standard"][0] < found["priority-premium"][0]
    assert found["priority-batch"][1] == "Never"


def test_a_tenants_hosts_take_no_pods_of_others() -> None:
    """They carry a taint that the pods of their own models alone tolerate."""
    plan = plan_of({"pools/gpus/tenant": "team"})
    taint = {"key": "railwright.dev/tenant", "operator": "Equal", "value": "team", "effect": "NoSchedule"}
    assert taint in _pod(STACK, {"pools/gpus/tenant": "team"})["tolerations"]
    assert taint not in _pod()["tolerations"]
    assert plan.refusals == ()


@pytest.mark.parametrize("models", [None, ["chat"]], ids=["all models", "by name"])
def test_a_key_of_another_tenant_opens_no_model_of_a_tenants_pool(models: list[str] | None) -> None:
    """Whether it lists the model or opens all of them."""
    key = {**KEY, "tier": "batch", **({"models": models} if models else {})}
    (refusal,) = plan_of({"pools/gpus/tenant": "team", "keys/other": key}).refusals
    assert (refusal.id, refusal.key) == ("RW-401", "keys.other.models")
    assert "is for tenant 'team' alone" in refusal.found


def test_objects_of_kueue_are_what_its_kinds_take() -> None:
    """Every field is known, for the release that is the default."""
    plan = plan_of({}, QUEUED)
    config = plan.scheduling.kueue
    assert config
    made = [part for make in (kueue.hosts, kueue.queues, kueue.doors) for part in make(plan, config).values()]
    assert {item["kind"] for item in made} == {"Topology", "ResourceFlavor", "Cohort", "ClusterQueue", "LocalQueue"}
    assert {item["metadata"]["name"]: found for item in made if (found := mistakes(item))} == {}


def test_a_model_comes_from_the_queue_of_its_tenant_and_tier() -> None:
    """By a label; each of its pods is put on one host, and no rule of the pod contradicts where."""
    plan = plan_of({}, QUEUED)
    deploys = {item.name: objects(item, ())["deploy"] for item in plan.models}
    queues = {name: item["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] for name, item in deploys.items()}
    assert queues == {"chat": "shared-standard", "large": "shared-standard", "nightly": "shared-batch"}
    template = deploys["chat"]["spec"]["template"]
    assert template["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] == "kubernetes.io/hostname"
    assert "affinity" not in template["spec"]


@pytest.mark.parametrize("base", [TWO, QUEUED], ids=["constraints", "kueue"])
def test_a_pod_is_not_held_to_a_host_that_is_gone_or_tainted(base: Sections) -> None:
    """kueue#9710: it names no host itself, and bears no taint but those that the plan gives the pool."""
    plan = plan_of({"pools/gpus/tenant": "team"}, base)
    pods = [objects(item, ())["deploy"]["spec"]["template"]["spec"] for item in plan.models]
    queue = plan.scheduling.kueue
    flavors = (
        [item["spec"] for item in kueue.hosts(plan, queue).values() if "tolerations" in item["spec"]] if queue else []
    )
    borne = [item for spec in (*pods, *flavors) for item in spec["tolerations"]]
    assert {(item["key"], item["effect"]) for item in borne} == {
        ("nvidia.com/gpu", "NoSchedule"),
        ("railwright.dev/tenant", "NoSchedule"),
    }
    assert [pod for pod in pods if "nodeName" in pod or "kubernetes.io/hostname" in pod["nodeSelector"]] == []


@pytest.mark.parametrize("target", sorted(LEAF_LABELS))
def test_kueue_puts_pods_by_host_so_that_it_can_replace_one(target: str) -> None:
    """kueue#9710: it takes another host for a pod only where hosts are the last level."""
    plan = plan_of({}, QUEUED)
    assert plan.scheduling.kueue
    other = replace(plan, target=TARGETS[target])
    assert kueue.hosts(other, plan.scheduling.kueue)["topology"]["spec"]["levels"][-1] == {
        "nodeLabel": "kubernetes.io/hostname"
    }


def test_a_kueue_that_leaves_pods_on_bad_hosts_is_not_offered() -> None:
    """kueue#9710: before 0.17 pods stay pending on a host that was tainted after they were put there."""
    with pytest.raises(ValueError, match=r"release 0\.16 is not known to work; allowed are 0\.17"):
        Kueue(version="0.16.4")


def test_queues_share_out_all_but_the_spares() -> None:
    """What models were given and what is left to lend is what hosts have that are no spares: GPU for GPU."""
    plan = plan_of({"pools/gpus/hosts": 6, "pools/gpus/spare_hosts": 1}, QUEUED)
    assert plan.scheduling.kueue
    quotas = {
        item["metadata"]["name"]: int(entry["nominalQuota"])
        for item in kueue.queues(plan, plan.scheduling.kueue).values()
        for entry in item["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        if entry["name"] == "nvidia.com/gpu"
    }
    assert quotas == {"shared-standard": 2 * 1 + 2 * 8, "shared-batch": 2 * 4, "railwright": 5 * 8 - 26}


def test_a_queue_may_drain_before_it_goes() -> None:
    """Its deletion is waited for as long as its pods may take to finish their answers."""
    plan = plan_of({"models/chat/grace": "2h"}, QUEUED)
    assert plan.scheduling.kueue
    queue = kueue.queues(plan, plan.scheduling.kueue)["cluster-queue-shared-standard"]
    assert int(queue["metadata"]["annotations"]["pulumi.com/timeoutSeconds"]) > 7200


def test_models_without_gpus_have_no_queue() -> None:
    """The lab's own engine runs beside a Kueue that it never asks."""
    plan = plan_of({"scheduling": {"kueue": {"install": False}}}, LAB).models[0]
    assert "kueue.x-k8s.io/queue-name" not in objects(plan, ())["deploy"]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("changes", "id_", "key"),
    [
        ({"scheduling": {"kueue": {}}}, "RW-402", "charts.kueue"),
        (
            {"scheduling": {"kueue": {"version": "0.18.0"}}, "charts/kueue": {
                "oci": "oci://mirror.example.com/charts", "sha256": "0" * 64}},
            "RW-302", "scheduling.kueue.version",
        ),
    ],
    ids=["no place", "another version"],
)  # fmt: skip
def test_a_kueue_that_cannot_be_installed_is_refused(changes: dict[str, Any], id_: str, key: str) -> None:
    """Its chart needs a place, and its objects the API of the version that is installed."""
    assert [(item.id, item.key) for item in plan_of(changes).refusals] == [(id_, key)]


@pytest.mark.parametrize(("hosts", "seen"), [(50, 50), (100, 100), (150, 100), (1000, 420), (5000, 500)], ids=str)
def test_how_many_hosts_the_scheduler_looks_at(hosts: int, seen: int) -> None:
    """All of a small cluster, and ever less of a large one."""
    assert looked_at(hosts) == seen


def test_a_pool_that_the_scheduler_cannot_see_whole_is_told() -> None:
    """Only where small and large models share it, and Kueue does not place them."""
    large = {"pools/gpus/hosts": 400}
    assert [note for note in plan_of(large, TWO).notes if "looks at 188 of 400 hosts" in note]
    assert not [note for note in (*plan_of(large).notes, *plan_of(large, QUEUED).notes) if "looks at" in note]
