"""CoreWeave: one NodePool object of CKS for each pool; drivers, device plugin and fabric are the platform's own."""

from __future__ import annotations

from collections.abc import Mapping

from infra.plan.facts import PoolPlan
from infra.plan.labels import host_taints, own_labels
from infra.plan.manifests.base import Manifest, manifest
from infra.targets import Target

API = "compute.coreweave.com/v1alpha1"
"""Group and version of NodePool. Source: CoreWeave docs, Node Pool reference."""


class CoreweaveTarget(Target):
    """Hosts come from CKS; the GPU Operator is never installed there."""

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
