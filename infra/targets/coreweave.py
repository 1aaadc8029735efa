"""CoreWeave: one NodePool object of CKS for each pool; drivers, device plugin and fabric are the platform's own."""

from __future__ import annotations

from collections.abc import Mapping

from infra.plan.facts import Plan, PoolPlan
from infra.plan.labels import host_taints, own_labels
from infra.plan.manifests.base import Manifest, manifest
from infra.plan.resources import Resource

API = "compute.coreweave.com/v1alpha1"
"""Group and version of NodePool. Source: CoreWeave docs, Node Pool reference."""


class CoreweaveTarget:
    """Hosts come from CKS; the GPU Operator is never installed there."""

    def cluster_objects(self, plan: Plan) -> Mapping[str, Manifest]:
        """Nothing: the platform brings all that pods need of hosts."""
        return {}

    def pool_objects(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """The NodePool; its machine type can never be changed, so that another one is another object."""
        spec = {
            "computeClass": "default",
            "instanceType": pool.pool.shape,
            "targetNodes": pool.pool.hosts,
            "nodeLabels": own_labels(pool),
            "nodeTaints": host_taints(pool),
        }
        name = f"{pool.name}-{pool.pool.shape.lower()}"
        return {"hosts": manifest(API, "NodePool", name, spec=spec)}

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """Nothing: the cluster itself makes the hosts."""
        return ()

    def host_patches(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Nothing: the NodePool labels them."""
        return {}
