"""RW-302, RW-401 and RW-402: queues that nobody installs, and hosts of one tenant that another's key opens."""

from __future__ import annotations

from collections.abc import Iterator

from infra.config.scheduling import Kueue
from infra.plan.charts import Chart, chart_of
from infra.plan.facts import Plan, PoolPlan, Refusal
from infra.plan.manifests.kueue import CHART

FEWEST_SEEN = 100
"""Hosts that the scheduler looks at before it takes the best of them (count), and the percentages below.
Source: kubernetes v1.36.3 pkg/scheduler/schedule_one.go, numFeasibleNodesToFind."""


def check(plan: Plan) -> Iterator[Refusal]:
    """Yield what of queues and tenants is certain to fail."""
    if plan.scheduling.kueue and plan.scheduling.kueue.install:
        yield from _installed(plan.scheduling.kueue, chart_of(plan, CHART))
    yield from _tenants(plan)


def notes(plan: Plan) -> Iterator[str]:
    """Tell where the scheduler cannot see the whole of a pool, so that it may use more hosts than planned."""
    seen = looked_at(sum(pool.pool.hosts for pool in plan.pools))
    for pool in plan.pools if plan.target.name != "lab" else ():
        models = [item for item in plan.models if item.pool.name == pool.name]
        small = [item.name for item in models if item.placement.replicas_per_host > 1]
        if pool.board.gpu and small and len(models) > 1 and pool.pool.hosts > seen and not models[0].standing.queue:
            yield (
                f"pools.{pool.name}: the scheduler looks at {seen} of {pool.pool.hosts} hosts for a pod, so replicas "
                f"of {', '.join(small)} may take more hosts than planned; set scheduling.kueue, or give them a pool"
            )


def looked_at(hosts: int) -> int:
    """Hosts that the scheduler ranks for one pod, as it comes (count).

    Args:
        hosts: of the cluster.
    """
    return min(hosts, max(FEWEST_SEEN, hosts * max(5, 50 - hosts // 125) // 100))


def _installed(kueue: Kueue, chart: Chart) -> Iterator[Refusal]:
    if not chart.source:
        found = "missing, and Kueue is published in registries only"
        fix = "name its place and digest there (oci and sha256, or folder), or set scheduling.kueue.install to false"
        yield Refusal("RW-402", "charts.kueue", found, fix)
        return
    if chart.version.removeprefix("v") != kueue.version:
        found = f"{kueue.version!r}, the chart that is installed has {chart.version}"
        yield Refusal("RW-302", "scheduling.kueue.version", found, "set both to one version")


def _tenants(plan: Plan) -> Iterator[Refusal]:
    own = [model for model in plan.models if model.standing.tenant]
    for name, key in plan.gateway.keys.items():
        opened = [model for model in own if key.models is None or model.name in key.models]
        for model in [model for model in opened if model.standing.tenant != key.tenant][:1]:
            yield _opened(name, key.tenant, model.name, model.pool, is_listed=key.models is not None)


def _opened(key: str, tenant: str, model: str, pool: PoolPlan, *, is_listed: bool) -> Refusal:
    opens = "opens" if is_listed else "opens all models, so also"
    found = f"tenant {tenant!r} {opens} {model!r}, and pool {pool.name!r} is for tenant {pool.pool.tenant!r} alone"
    fix = f"list models of shared pools only, or leave pools.{pool.name}.tenant out"
    return Refusal("RW-401", f"keys.{key}.models", found, fix)
