"""EKS: node groups with the interfaces and the capacity that each machine type needs, and the cluster if it is made."""

from __future__ import annotations

from infra.config.clouds import Aws
from infra.plan.facts import Plan, PoolPlan
from infra.plan.resources import Ground, Resource
from infra.targets import Target
from infra.targets.eks import cluster, pools


class EksTarget(Target):
    """Hosts come from managed node groups, one to a pool; labels and taints come with them."""

    def ground(self, plan: Plan) -> Ground | None:
        """The provider of the region, and the cluster with network and roles where the stack makes it."""
        return cluster.ground(plan, plan.cloud) if isinstance(plan.cloud, Aws) else None

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """Security group, placement group, launch template and node group."""
        if not isinstance(plan.cloud, Aws):
            return ()
        return tuple(pools.resources(pool, plan.cloud, cluster.place(plan, plan.cloud)))
