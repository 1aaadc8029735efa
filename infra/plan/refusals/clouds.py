"""RW-303: a cloud's pools without the cluster, network or zone that they go into."""

from __future__ import annotations

from collections.abc import Iterator

from infra.catalog.shapes import SHAPES
from infra.config.clouds import Aws, Gcp
from infra.config.mistakes import nearest
from infra.config.stack import Stack
from infra.plan.facts import Refusal

SECTIONS = {"eks": "aws", "gke": "gcp"}
"""Target → the key of ``cluster`` that says what is there already."""

NAMES = {
    "aws": "cluster, vpc, subnets, security_group and node_role",
    "gcp": "project, location, cluster and networks",
}
"""That key → what has to stand in it."""


def check(stack: Stack) -> Iterator[Refusal]:
    """Yield what of the cloud's side is missing, superfluous, or does not have a pool's zone."""
    cluster, needed = stack.cluster, SECTIONS.get(stack.cluster.target)
    for target, key in SECTIONS.items():
        if key != needed and getattr(cluster, key):
            found = f"is of target {target}, this stack is on {cluster.target}"
            yield Refusal("RW-303", f"cluster.{key}", found, "leave it out")
    if needed and not getattr(cluster, needed):
        found = f"missing, and pools of target {cluster.target} go into a cluster that is there"
        yield Refusal("RW-303", f"cluster.{needed}", found, f"name {NAMES[needed]}")
    if needed == "aws" and cluster.aws:
        yield from _zones(stack, cluster.aws)
    if needed == "gcp" and cluster.gcp:
        yield from _networks(stack, cluster.gcp)


def _zones(stack: Stack, aws: Aws) -> Iterator[Refusal]:
    for name, pool in stack.pools.items():
        if pool.zone and pool.zone not in aws.subnets:
            found = f"{pool.zone!r} has no subnet under cluster.aws.subnets"
            yield Refusal("RW-303", f"pools.{name}.zone", found, nearest(pool.zone, list(aws.subnets)))


def _networks(stack: Stack, gcp: Gcp) -> Iterator[Refusal]:
    """Each interface beside the first needs a network; one more takes the place of a GPU's."""
    for name, pool in stack.pools.items():
        shape = SHAPES.get(pool.shape)
        if shape is None or pool.fabric == "none" or len(gcp.networks) == len(shape.nics):
            continue
        kinds = ", ".join(nic.kind for nic in shape.nics)
        found = f"{len(gcp.networks)}, hosts of pool {name!r} ({shape.name}) have {len(shape.nics)} further interfaces"
        yield Refusal("RW-303", "cluster.gcp.networks", found, f"name one for each, in this order: {kinds}")
