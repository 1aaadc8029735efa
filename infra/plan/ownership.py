"""Which way of sharing out a GPU host's software a stack has."""

from __future__ import annotations

from infra.catalog.ownership import OWNERSHIPS, Ownership, of_target
from infra.config.stack import Stack


def ownership_of(stack: Stack) -> Ownership:
    """The one that the stack names, or its target's default; a name that does not fit is refused elsewhere."""
    offered = of_target(stack.cluster.target)
    named = OWNERSHIPS.get(stack.cluster.ownership)
    return named if named in offered else offered[0]
