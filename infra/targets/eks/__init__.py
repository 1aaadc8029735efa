"""EKS: node groups in a cluster that is there, with the interfaces and the capacity that each machine type needs."""

from __future__ import annotations

from collections.abc import Mapping

from infra.plan.facts import Plan, PoolPlan
from infra.plan.manifests.base import Manifest
from infra.plan.resources import Resource
from infra.targets.eks import pools


class EksTarget:
    """Hosts come from managed node groups, one to a pool; labels and taints come with them."""

    def cluster_objects(self, plan: Plan) -> Mapping[str, Manifest]:
        """Nothing: what pods need of hosts is in the image, or comes with the GPU Operator."""
        return {}

    def pool_objects(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Nothing: the node group makes the hosts."""
        return {}

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """Security group, placement group, launch template and node group."""
        return tuple(pools.resources(pool, plan.aws)) if plan.aws else ()

    def host_patches(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Nothing: the node group labels them."""
        return {}
