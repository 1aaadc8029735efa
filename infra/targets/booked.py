"""What a pool's hosts are booked as: named by the spec, or made by the stack and then kept whatever happens."""

from __future__ import annotations

from infra.plan.facts import PoolPlan
from infra.plan.resources import Lifecycle, Ref

KEPT = Lifecycle(protect=True, retain=True)
"""Capacity that is given back may never be had again: no update deletes it, and it outlives the stack."""


def reservation_of(plan: PoolPlan) -> str:
    """Pulumi's name of a reservation that the stack makes."""
    return f"pool-{plan.name}-reservation"


def booked(plan: PoolPlan, output: str = "id") -> str | Ref:
    """Id or name of what was booked, or a reference to what is made; empty where nothing is.

    Args:
        output: the output of a reservation by which the cloud wants it named.
    """
    supply = plan.pool.supply
    return Ref(reservation_of(plan), output) if supply.made else supply.reservation
