"""Where the pods of a model may go and which go first: the plan's placement, as the scheduler understands it."""

from __future__ import annotations

from infra.catalog.kueue import QUEUE_LABEL, REQUIRED_TOPOLOGY
from infra.catalog.leaves import LEAF_LABELS
from infra.config.scheduling import Tier
from infra.plan.facts import ModelPlan
from infra.plan.labels import GPU_TAINT, POOL_LABEL, TENANT
from infra.plan.manifests.base import PART_OF, Manifest, manifest
from infra.plan.standing import TIERS

HOSTNAME = "kubernetes.io/hostname"
"""Names a host. Source: Kubernetes, well-known labels."""

_VALUES = dict(zip(TIERS, (2000, 1000, -1000), strict=True))
"""Priority by tier. Pods without a class have 0: batch gives way even to them."""


def priority_class(tier: Tier) -> str:
    """Name of a tier's priority class."""
    return f"railwright-{tier}"


def priority_classes() -> dict[str, Manifest]:
    """One priority class per tier, for the whole cluster; batch pushes nobody out."""
    return {f"priority-{tier}": _priority_class(tier) for tier in TIERS}


def _priority_class(tier: Tier) -> Manifest:
    policy = "Never" if tier == "batch" else "PreemptLowerPriority"
    return manifest(
        "scheduling.k8s.io/v1",
        "PriorityClass",
        priority_class(tier),
        value=_VALUES[tier],
        preemptionPolicy=policy,
        description=f"Pods that answer requests of tier {tier}.",
    )


def constraints(plan: ModelPlan, labels: dict[str, str]) -> Manifest:
    """Fields of a pod that bring it to the hosts of the plan.

    Args:
        labels: labels that select the pods of the model.
    """
    fields: Manifest = {
        "priorityClassName": priority_class(plan.standing.tier),
        "nodeSelector": {POOL_LABEL: plan.pool.name, **plan.model.node_labels},
        "topologySpreadConstraints": [_spread(key, labels) for key in _spread_over(plan)],
    }
    if tolerations := _tolerations(plan):
        fields["tolerations"] = tolerations
    # Kueue names the host of each pod itself; what it cannot see must not contradict it.
    if plan.pool.board.gpu and not plan.standing.queue:
        fields["affinity"] = _affinity(plan, labels)
    return fields


def queue_labels(plan: ModelPlan) -> dict[str, str]:
    """Labels of a workload that bring it to its queue; none without Kueue."""
    return {QUEUE_LABEL: plan.standing.queue} if plan.standing.queue else {}


def queue_annotations(plan: ModelPlan) -> dict[str, str]:
    """Annotations of a pod that tell Kueue what must be one place: a replica is on one host."""
    return {REQUIRED_TOPOLOGY: HOSTNAME} if plan.standing.queue else {}


def _tolerations(plan: ModelPlan) -> list[Manifest]:
    found: list[Manifest] = []
    if plan.pool.board.gpu:
        found.append({"key": GPU_TAINT, "operator": "Exists", "effect": "NoSchedule"})
    if plan.standing.tenant:
        found.append({"key": TENANT, "operator": "Equal", "value": plan.standing.tenant, "effect": "NoSchedule"})
    return found


def _spread_over(plan: ModelPlan) -> list[str]:
    """Labels over whose values replicas are spread, as far as there is room.

    Replicas that share a host are packed, as planned: the hosts left over are whole. The pool's label is the same
    everywhere, so that it changes nothing but keeps the scheduler's own default, which spreads over hosts, from acting.
    Source: Kubernetes, cluster-level default constraints.
    """
    if plan.pool.board.gpu is None:
        return [HOSTNAME]
    if plan.placement.replicas_per_host > 1:
        return [POOL_LABEL]
    return [label for label in (HOSTNAME, LEAF_LABELS[plan.pool.target.name]) if label]


def _spread(key: str, labels: dict[str, str]) -> Manifest:
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
        # Each rollout is spread by itself; pods on their way out must not count.
        "matchLabelKeys": ["pod-template-hash"],
    }


def _affinity(plan: ModelPlan, labels: dict[str, str]) -> Manifest:
    """Apart from all other models, so that hosts stay whole for those that need whole ones; beside its own."""
    name = "app.kubernetes.io/name"
    others = {"matchLabels": PART_OF, "matchExpressions": [{"key": name, "operator": "NotIn", "values": [plan.name]}]}
    affinity: Manifest = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": others, "topologyKey": HOSTNAME}]
        }
    }
    if plan.placement.replicas_per_host > 1:
        own = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOSTNAME}
        affinity["podAffinity"] = {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": own}]
        }
    return affinity
