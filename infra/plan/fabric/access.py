"""Which way to the fabric a pool has, and how much of it its hosts offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from infra.catalog.fabrics import Access, offered
from infra.catalog.shapes import Shape
from infra.config.pools import Pool

if TYPE_CHECKING:
    from infra.plan.facts import PoolPlan


def access_of(pool: Pool, target: str, shape: Shape | None) -> Access | None:
    """The way that a pool names, or its target's default; one that is not offered is refused elsewhere."""
    ways = ways_of(pool, target, shape)
    return next((way for way in ways if way.mode == pool.network.mode), ways[0] if ways else None)


def ways_of(pool: Pool, target: str, shape: Shape | None) -> tuple[Access, ...]:
    """All ways that the target offers to such hosts; none without a fabric."""
    return offered(target, pool.fabric, shape.transport if shape else "")


def resources_of(plan: PoolPlan) -> Mapping[str, int]:
    """Extended resources of the fabric on one host, with their amounts; empty where pods get it in another way."""
    access, shape = plan.access, plan.shape
    if plan.pool.fabric == "none":
        return {}
    if access is None:
        return {shape.rdma_resource: shape.rdma_requested} if shape and shape.rdma_resource else {}
    if access.asks == "rails":
        each = plan.pool.network.functions or 1
        return {f"{access.resource}{number}": each for number in range(plan.rails)}
    if access.asks == "networks":
        return {}
    return {access.resource: shape.rdma_requested if shape else plan.rails}


def room(plan: PoolPlan, devices: int) -> int:
    """Pods of a model with so many devices that the fabric of one host has room for (count)."""
    if plan.access and plan.access.asks == "networks":
        return int(devices == plan.rails)
    return plan.rdma_devices // devices


def asked_in_vain(plan: PoolPlan, devices: int) -> str:
    """What is wrong with asking for so many devices, as ``<what is offered>``; empty when nothing is."""
    access, resource = plan.access, plan.rdma_resource
    if plan.pool.fabric == "none":
        return "has fabric: none"
    if access and access.asks in ("rails", "networks"):
        what = "one device" if access.asks == "rails" else "one network"
        return "" if devices == plan.rails else f"gives pods {what} of each of its {plan.rails} rails, or none"
    if access and access.asks == "flag":
        return "" if devices == 1 else f"brings all devices with 1 of {resource}"
    return "" if devices <= plan.rdma_devices else f"offers {plan.rdma_devices} {resource} per host"
