"""When a fabric is there: every host gives out the devices of its rails, or no pod may land there."""

from __future__ import annotations

from infra.plan.allocatable import MOST_SECONDS, Wanted, wanted_of
from infra.plan.fabric.access import resources_of
from infra.plan.fabric.policies import READY_SECONDS, served
from infra.plan.facts import Plan

HOST_SECONDS = 15 * 60
"""One host emptied and started anew with functions of its NICs (seconds); hosts of a pool follow each other."""


def deadline(plan: Plan) -> int:
    """How long devices may take to be there (seconds)."""
    restarted = [pool.pool.hosts for pool in served(plan) if pool.access and pool.access.mode == "sriov"]
    return min(MOST_SECONDS, READY_SECONDS + max(restarted, default=0) * HOST_SECONDS)


def wanted(plan: Plan) -> tuple[Wanted, ...]:
    """Devices of each pool that the Network Operator serves."""
    return tuple(
        wanted_of(pool, resource, amount) for pool in served(plan) for resource, amount in resources_of(pool).items()
    )
