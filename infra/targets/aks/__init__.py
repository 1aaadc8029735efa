"""AKS: agent pools on one InfiniBand fabric each, whose driver is the GPU Operator's, and the cluster if it is made."""

from __future__ import annotations

from infra.config.clouds import Azure
from infra.plan.facts import Plan, PoolPlan
from infra.plan.resources import Ground, Resource
from infra.targets import Target
from infra.targets.aks import cluster, pools


class AksTarget(Target):
    """Hosts come from agent pools, one scale set to a pool; labels and taints come with them."""

    def ground(self, plan: Plan) -> Ground | None:
        """The provider of the subscription, and the cluster with its network where the stack makes it."""
        return cluster.ground(plan, plan.cloud) if isinstance(plan.cloud, Azure) else None

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """The agent pool."""
        if not isinstance(plan.cloud, Azure) or pool.shape is None:
            return ()
        return tuple(pools.resources(pool, pool.shape, plan.cloud, cluster.place(plan.cloud)))
