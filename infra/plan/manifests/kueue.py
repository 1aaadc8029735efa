"""Objects of Kueue: hosts by leaf, a flavor per pool, and a queue per tenant and tier with what the plan gives it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from infra.catalog.kueue import api_version
from infra.catalog.leaves import LEAF_LABELS
from infra.config.scheduling import Kueue, Tier
from infra.plan import quantities
from infra.plan.facts import ModelPlan, Plan, PoolPlan
from infra.plan.labels import POOL_LABEL, host_resources, host_taints
from infra.plan.manifests import model
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.manifests.scheduling import HOSTNAME
from infra.plan.quantities import Amounts

NAME = "railwright"
"""Of the topology, and of the cohort in which queues lend each other what they do not use."""

CHART = "kueue"
"""Its chart. Source: kubernetes-sigs/kueue, charts/kueue."""

INSTALL_SECONDS = 600
"""Longest wait for its controller and webhooks (seconds)."""

Objects = dict[str, Manifest]
"""By part."""


def is_installed(plan: Plan) -> bool:
    """Whether the stack brings Kueue."""
    return plan.scheduling.kueue is not None and plan.scheduling.kueue.install


def hosts(plan: Plan, kueue: Kueue) -> Objects:
    """The topology, and the pools as flavors of hosts; a queue names them, so they outlive it."""
    api, level = api_version(kueue.version), LEAF_LABELS[plan.target.name]
    levels = [{"nodeLabel": label} for label in (level, HOSTNAME) if label]
    topology = manifest(api, "Topology", NAME, spec={"levels": levels})
    return {"topology": topology, **{f"flavor-{pool.name}": _flavor(api, pool) for pool in _pools(plan)}}


def queues(plan: Plan, kueue: Kueue) -> Objects:
    """The cohort with what nobody was given, and each tenant's and tier's queue with what its models take."""
    api = api_version(kueue.version)
    pools, found = _pools(plan), _by_queue(plan)
    left = {pool.name: _left(pool, plan.models) for pool in pools}
    made = {"cohort": manifest(api, "Cohort", NAME, spec={"resourceGroups": _groups(pools, left)})}
    for name, models in found.items():
        used = [pool for pool in pools if any(item.pool.name == pool.name for item in models)]
        given = {pool.name: _asked(item for item in models if item.pool.name == pool.name) for pool in used}
        spec = {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": model.NAMESPACE}},
            "resourceGroups": _groups(used, given),
            "preemption": _PREEMPTION[models[0].standing.tier],
            "cohortName": NAME,
        }
        # It goes when the last of its pods has ended, and they may finish their answers.
        wait = {"pulumi.com/timeoutSeconds": str(max(item.shutdown.grace for item in models) + INSTALL_SECONDS)}
        made[f"cluster-queue-{name}"] = manifest(api, "ClusterQueue", name, annotations=wait, spec=spec)
    return made


def doors(plan: Plan, kueue: Kueue) -> Objects:
    """The names under which models find their queues."""
    api = api_version(kueue.version)
    return {
        f"queue-{name}": manifest(api, "LocalQueue", name, model.NAMESPACE, spec={"clusterQueue": name})
        for name in _by_queue(plan)
    }


def _pools(plan: Plan) -> list[PoolPlan]:
    return [pool for pool in plan.pools if pool.board.gpu]


def _by_queue(plan: Plan) -> dict[str, list[ModelPlan]]:
    found: dict[str, list[ModelPlan]] = {}
    for item in plan.models:
        if item.standing.queue:
            found.setdefault(item.standing.queue, []).append(item)
    return found


def _flavor(api: str, pool: PoolPlan) -> Manifest:
    tolerations = [
        {"key": taint["key"], "operator": "Equal", "value": taint["value"], "effect": taint["effect"]}
        for taint in host_taints(pool)
    ]
    spec = {"nodeLabels": {POOL_LABEL: pool.name}, "topologyName": NAME, "tolerations": tolerations}
    return manifest(api, "ResourceFlavor", pool.name, spec=spec)


def _groups(pools: Sequence[PoolPlan], given: Mapping[str, Amounts]) -> list[Manifest]:
    """One resource group: a pod takes all that it asks for from hosts of one pool."""
    resources = sorted({resource for amounts in given.values() for resource in amounts})
    flavors = [
        {
            "name": pool.name,
            "resources": [
                {"name": resource, "nominalQuota": quantities.write(given[pool.name].get(resource, Fraction(0)))}
                for resource in resources
            ],
        }
        for pool in pools
    ]
    return [{"coveredResources": resources, "flavors": flavors}]


def _asked(models: Iterable[ModelPlan]) -> Amounts:
    """What all replicas of some models ask for."""
    return quantities.total(
        {resource: amount * item.model.replicas for resource, amount in _of_pod(item).items()} for item in models
    )


def _of_pod(item: ModelPlan) -> Amounts:
    containers = model.objects(item, ())["deploy"]["spec"]["template"]["spec"]["containers"]
    return quantities.total(
        {name: quantities.read(text) for name, text in container["resources"]["requests"].items()}
        for container in containers
    )


def _left(pool: PoolPlan, models: Iterable[ModelPlan]) -> Amounts:
    """What hosts that are no spares have beyond what models were given: room for rollouts, and to lend."""
    asked = _asked(item for item in models if item.pool.name == pool.name)
    usable = pool.pool.hosts - pool.pool.spare_hosts
    has = {name: quantities.read(text) * usable for name, text in host_resources(pool).items() if name != "pods"}
    return {name: max(Fraction(0), amount - asked.get(name, Fraction(0))) for name, amount in has.items()}


_PREEMPTION: Mapping[Tier, Manifest] = {
    "premium": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
    "standard": {"reclaimWithinCohort": "LowerPriority", "withinClusterQueue": "LowerPriority"},
    "batch": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
}
"""Whose pods a queue may push out. Source: Kueue, ClusterQueue preemption."""
