"""Bare metal: the hosts are there, joined and labelled by the host plays; the stack adds nothing to them."""

from __future__ import annotations

from collections.abc import Mapping

from infra.plan.facts import Plan, PoolPlan
from infra.plan.manifests.base import Manifest
from infra.plan.resources import Resource


class BaremetalTarget:
    """Hosts come from the inventory, labels from the kubelet's arguments in it."""

    def cluster_objects(self, plan: Plan) -> Mapping[str, Manifest]:
        """Nothing: the GPU Operator brings the runtime class."""
        return {}

    def pool_objects(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Nothing: no API creates these hosts."""
        return {}

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """Nothing: no cloud is asked."""
        return ()

    def host_patches(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Nothing: one resource per host would make the stack grow with hosts."""
        return {}
