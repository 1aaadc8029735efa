"""OCI: hosts that join OKE by themselves, on a cluster network or by the rack, and the cluster if it is made."""

from __future__ import annotations

from infra.config.clouds import Oci
from infra.plan.facts import Plan, PoolPlan
from infra.plan.resources import Ground, Resource
from infra.targets import Target
from infra.targets.oci import cluster, pools


class OciTarget(Target):
    """Hosts with a fabric come from a cluster network, of which OKE's node pools know nothing; others from those."""

    def ground(self, plan: Plan) -> Ground | None:
        """The provider of the region, and the cluster with its network where the stack makes it."""
        return cluster.ground(plan, plan.cloud) if isinstance(plan.cloud, Oci) else None

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """Instance configuration with what launches it, or the node pool."""
        if not isinstance(plan.cloud, Oci) or pool.shape is None:
            return ()
        return tuple(pools.resources(pool, pool.shape, plan.cloud, cluster.place(plan.cloud)))
