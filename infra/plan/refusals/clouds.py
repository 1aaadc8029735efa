"""RW-303: a cloud's pools without the cluster, network or zone that they go into."""

from __future__ import annotations

from collections.abc import Iterator

from infra.config.clouds import Aws
from infra.config.mistakes import nearest
from infra.config.stack import Stack
from infra.plan.facts import Refusal

SECTIONS = {"eks": "aws"}
"""Target → the key of ``cluster`` that says what is there already."""


def check(stack: Stack) -> Iterator[Refusal]:
    """Yield what of the cloud's side is missing, superfluous, or does not have a pool's zone."""
    cluster, needed = stack.cluster, SECTIONS.get(stack.cluster.target)
    for target, key in SECTIONS.items():
        if key != needed and getattr(cluster, key):
            found = f"is of target {target}, this stack is on {cluster.target}"
            yield Refusal("RW-303", f"cluster.{key}", found, "leave it out")
    if needed and not getattr(cluster, needed):
        found = f"missing, and pools of target {cluster.target} go into a cluster that is there"
        yield Refusal("RW-303", f"cluster.{needed}", found, "name cluster, vpc, subnets, security_group and node_role")
    if needed == "aws" and cluster.aws:
        yield from _zones(stack, cluster.aws)


def _zones(stack: Stack, aws: Aws) -> Iterator[Refusal]:
    for name, pool in stack.pools.items():
        if pool.zone and pool.zone not in aws.subnets:
            found = f"{pool.zone!r} has no subnet under cluster.aws.subnets"
            yield Refusal("RW-303", f"pools.{name}.zone", found, nearest(pool.zone, list(aws.subnets)))
