"""GKE: node pools in a cluster that is there, with a network for each GPU."""

from __future__ import annotations

from collections.abc import Mapping

from infra.plan.facts import Plan, PoolPlan
from infra.plan.manifests.base import Manifest
from infra.plan.resources import Resource
from infra.targets.gke import networks, pools


class GkeTarget:
    """Hosts come from node pools; the driver is Google's, on an image that nobody else can write to."""

    def cluster_objects(self, plan: Plan) -> Mapping[str, Manifest]:
        """The networks that pods can have interfaces in, of the machine type that has most of them."""
        shapes = [pool.shape for pool in plan.pools if pool.shape and pool.pool.fabric != "none"]
        if plan.gcp is None or not shapes:
            return {}
        return dict(networks.objects(max(shapes, key=lambda shape: len(shape.nics)), plan.gcp))

    def pool_objects(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Nothing: the node pool makes the hosts."""
        return {}

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """The node pool."""
        return (pools.resource(pool, pool.shape, plan.gcp),) if plan.gcp and pool.shape else ()

    def host_patches(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Nothing: the node pool labels them."""
        return {}
