"""RW-302: driver, toolkit and OFED with two owners or none, and software that does not know the GPU."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.ownership import OWNERSHIPS, of_target
from infra.config.mistakes import nearest
from infra.config.stack import Stack
from infra.plan.facts import Refusal


def check(stack: Stack) -> Iterator[Refusal]:
    """Yield a refusal when the stack names a way of sharing that its target does not have."""
    name, target = stack.cluster.ownership, stack.cluster.target
    offered = [row.name for row in of_target(target)]
    if not name or name in offered:
        return
    other = OWNERSHIPS.get(name)
    found = f"{name!r} is of target {other.target}, this stack is on {target}" if other else f"{name!r} is not known"
    yield Refusal("RW-302", "cluster.ownership", found, nearest(name, offered))
