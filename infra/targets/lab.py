"""The lab: simulated hosts for boards with GPUs, two real hosts of its own."""

from __future__ import annotations

from collections.abc import Mapping

from infra.catalog.targets import LAB_HOSTS
from infra.plan.facts import Plan, PoolPlan
from infra.plan.labels import host_labels, host_resources, host_taints
from infra.plan.manifests.base import Manifest, manifest
from infra.targets import Target


class LabTarget(Target):
    """One NodePool object per simulated pool; a controller of the lab stamps its hosts from it."""

    def cluster_objects(self, plan: Plan) -> Mapping[str, Manifest]:
        """The runtime class that a driver would bring along."""
        if not any(pool.simulated for pool in plan.pools):
            return {}
        name = plan.ownership.runtime_class
        return {"runtime-class": manifest("node.k8s.io/v1", "RuntimeClass", name, handler=name)}

    def pool_objects(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """The NodePool of a simulated pool, awaited until all of its hosts are ready."""
        if not pool.simulated:
            return {}
        resources = host_resources(pool)
        template = {
            "labels": host_labels(pool),
            "taints": host_taints(pool),
            "capacity": resources,
            "allocatable": resources,
        }
        counts = {"hosts": pool.pool.hosts, "hostsPerLeaf": pool.pool.hosts_per_leaf}
        spare = {"spareHosts": pool.pool.spare_hosts} if pool.pool.spare_hosts else {}
        spec = {**counts, **spare, "template": template}
        wait = {"pulumi.com/waitFor": "condition=Ready"}
        return {"hosts": manifest("lab.railwright.dev/v1", "NodePool", pool.name, annotations=wait, spec=spec)}

    def host_patches(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Labels of the pool's real hosts; the kubelet owns all others."""
        if pool.simulated:
            return {}
        labels = {key: value for key, value in host_labels(pool).items() if not key.startswith("kubernetes.io/")}
        return {name: {"metadata": {"name": name, "labels": labels}} for name in LAB_HOSTS[: pool.pool.hosts]}
