"""Everything that a stack's fabrics need in its cluster, in the order in which it is made."""

from __future__ import annotations

from dataclasses import dataclass

from infra.plan.fabric.installers import installers
from infra.plan.fabric.ipam import pools
from infra.plan.fabric.networks import networks
from infra.plan.fabric.policies import policies, served
from infra.plan.fabric.release import NAMESPACE
from infra.plan.facts import Plan
from infra.plan.manifests.base import Manifest


@dataclass(frozen=True, slots=True)
class FabricObjects:
    """Objects by part, each group after those before it."""

    policies: dict[str, Manifest]
    """What the Network Operator puts on hosts; awaited until it is there."""
    networks: dict[str, Manifest]
    """Addresses, functions and networks of each pool."""
    installers: dict[str, Manifest]
    """Programs of clouds, which need no operator."""


def is_needed(plan: Plan) -> bool:
    """Whether there is anything to make; clouds that serve the fabric themselves, and the lab, need nothing."""
    return bool(served(plan) or installers(plan))


def fabric_objects(plan: Plan, version: str) -> FabricObjects:
    """All of them; their number grows with pools and rails, never with hosts.

    Args:
        version: of the Network Operator.
    """
    made: dict[str, Manifest] = {}
    for pool in served(plan):
        parts = {**pools(pool, NAMESPACE), **networks(pool, NAMESPACE)}
        made |= {f"{pool.name}-{part}": manifest for part, manifest in parts.items()}
    return FabricObjects(policies(plan, version) if served(plan) else {}, made, installers(plan))
