"""GKE: node pools with a network for each GPU, and the cluster with those networks if it is made."""

from __future__ import annotations

from collections.abc import Mapping

from infra.config.clouds import Gcp
from infra.plan.facts import Plan, PoolPlan
from infra.plan.manifests.base import Manifest
from infra.plan.resources import Ground, Resource
from infra.targets import Target
from infra.targets.gke import cluster, networks, pools


class GkeTarget(Target):
    """Hosts come from node pools; the driver is Google's, on an image that nobody else can write to."""

    def ground(self, plan: Plan) -> Ground | None:
        """The provider of the project, and the cluster with its networks where the stack makes it."""
        return cluster.ground(plan, plan.cloud) if isinstance(plan.cloud, Gcp) else None

    def cluster_objects(self, plan: Plan) -> Mapping[str, Manifest]:
        """The networks that pods can have interfaces in, of the machine type that has most of them."""
        shapes = [pool.shape for pool in plan.pools if pool.shape and pool.pool.fabric != "none"]
        if not isinstance(plan.cloud, Gcp) or not shapes:
            return {}
        return dict(networks.objects(max(shapes, key=lambda shape: len(shape.nics)), cluster.place(plan, plan.cloud)))

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """The node pool, and what keeps trays of a rack together."""
        if not isinstance(plan.cloud, Gcp) or pool.shape is None:
            return ()
        return tuple(pools.resources(pool, pool.shape, plan.cloud, cluster.place(plan, plan.cloud)))
