"""Places to run, one module each; all of them answer the same questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from infra.plan.facts import Plan, PoolPlan
from infra.plan.manifests.base import Manifest
from infra.plan.resources import Ground, Resource


class Target(Protocol):
    """What a place to run adds to the plan, as plain data; a target says what it has, and nothing of the rest."""

    def ground(self, plan: Plan) -> Ground | None:
        """What the pools of a cloud stand on; None where no cloud is asked."""
        return None

    def cluster_objects(self, plan: Plan) -> Mapping[str, Manifest]:
        """Objects the cluster needs once: part → manifest."""
        return {}

    def pool_objects(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Objects that make the hosts of one pool exist: part → manifest."""
        return {}

    def pool_resources(self, plan: Plan, pool: PoolPlan) -> tuple[Resource, ...]:
        """Resources of a cloud that make the hosts of one pool exist, each after those that it refers to."""
        return ()

    def host_patches(self, pool: PoolPlan) -> Mapping[str, Manifest]:
        """Hosts that exist and get labels from the stack: host → fields; a few, as each is a resource."""
        return {}
