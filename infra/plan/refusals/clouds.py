"""RW-303: a cloud's pools without the cluster, network, zone or name that they go into, and networks that overlap."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from itertools import combinations

from infra.catalog.shapes import SHAPES
from infra.config.clouds import Aws, Azure, Cloud, Gcp, Oci
from infra.config.clouds.gcp import GcpExisting
from infra.config.cluster import SECTIONS
from infra.config.mistakes import nearest
from infra.config.stack import Stack
from infra.plan.facts import Refusal

NETWORKS = ("network", "pods", "services", "further")
"""Keys of a cluster that is made whose networks must not overlap."""

AKS_NAME = 12
"""Longest name of an agent pool (characters). Source: AKS, agentPoolName: lower-case letters and digits."""


def check(stack: Stack) -> Iterator[Refusal]:
    """Yield what of the cloud's side is missing, superfluous, contradictory, or does not have a pool's zone."""
    cluster, needed = stack.cluster, SECTIONS.get(stack.cluster.target)
    for target, key in SECTIONS.items():
        if key != needed and getattr(cluster, key):
            found = f"is of target {target}, this stack is on {cluster.target}"
            yield Refusal("RW-303", f"cluster.{key}", found, "leave it out")
    if needed is None:
        return
    if cluster.region == "local":
        found = f"missing, and target {cluster.target} is asked there"
        yield Refusal("RW-303", "cluster.region", found, "name the cloud's region")
    if cluster.cloud is None:
        found = f"missing, and pools of target {cluster.target} go into a cluster"
        yield Refusal(
            "RW-303", f"cluster.{needed}", found, "say under existing which one, or under made how to make it"
        )
    else:
        yield from _of(stack, cluster.cloud, f"cluster.{needed}")


def _of(stack: Stack, cloud: Cloud, key: str) -> Iterator[Refusal]:
    if cloud.made is not None:
        yield from _overlaps(cloud, key)
        if stack.cluster.kubeconfig:
            found = f"{stack.cluster.kubeconfig!r}, and the stack makes the cluster under {key}.made"
            yield Refusal("RW-303", "cluster.kubeconfig", found, "leave it out")
    match cloud:
        case Aws():
            yield from _zones(stack, cloud)
        case Gcp():
            yield from _networks(stack, cloud)
        case Azure():
            yield from _names(stack)
        case Oci():
            yield from _version(stack, cloud)


def _overlaps(cloud: Cloud, key: str) -> Iterator[Refusal]:
    said = {name: getattr(cloud.made, name) for name in NETWORKS if hasattr(cloud.made, name)}
    for (one, first), (other, second) in combinations(said.items(), 2):
        if ip_network(first).overlaps(ip_network(second)):
            found = f"{second} overlaps {key}.made.{one}, which is {first}"
            yield Refusal("RW-303", f"{key}.made.{other}", found, "choose networks that have no address in common")


def _zones(stack: Stack, aws: Aws) -> Iterator[Refusal]:
    known = list(aws.existing.subnets) if aws.existing else list(aws.made.zones) if aws.made else []
    where = "cluster.aws.existing.subnets" if aws.existing else "cluster.aws.made.zones"
    for name, pool in stack.pools.items():
        if pool.zone and pool.zone not in known:
            found = f"{pool.zone!r} has no subnet under {where}"
            yield Refusal("RW-303", f"pools.{name}.zone", found, nearest(pool.zone, known))


def _networks(stack: Stack, gcp: Gcp) -> Iterator[Refusal]:
    if gcp.existing:
        yield from _named_networks(stack, gcp.existing)
        return
    rdma = {name: pool for name, pool in stack.pools.items() if pool.shape in SHAPES and pool.fabric != "none"}
    first = next(iter(rdma), "")
    for name, pool in rdma.items():
        for what, mine, others in (
            ("zone", pool.zone, rdma[first].zone),
            ("shape", SHAPES[pool.shape].transport, SHAPES[rdma[first].shape].transport),
        ):
            if mine != others:
                found = f"{mine!r}, pool {first!r} has {others!r}, and a cluster that is made has one network of GPUs"
                yield Refusal("RW-303", f"pools.{name}.{what}", found, "put them into stacks of their own")


def _named_networks(stack: Stack, existing: GcpExisting) -> Iterator[Refusal]:
    """Each interface beside the first needs a network; one more takes the place of a GPU's."""
    for name, pool in stack.pools.items():
        shape = SHAPES.get(pool.shape)
        if shape is None or pool.fabric == "none" or len(existing.networks) == len(shape.nics):
            continue
        kinds = ", ".join(nic.kind for nic in shape.nics)
        found = (
            f"{len(existing.networks)}, hosts of pool {name!r} ({shape.name}) have {len(shape.nics)} further interfaces"
        )
        yield Refusal(
            "RW-303", "cluster.gcp.existing.networks", found, f"name one for each, in this order: {kinds}"
        )  # fmt: skip


def _names(stack: Stack) -> Iterator[Refusal]:
    for name in stack.pools:
        if len(name) > AKS_NAME or not name.isalnum():
            found = f"{name!r}, and AKS allows {AKS_NAME} lower-case letters and digits"
            yield Refusal("RW-303", f"pools.{name}", found, "rename the pool")


def _version(stack: Stack, oci: Oci) -> Iterator[Refusal]:
    minor = oci.kubernetes.removeprefix("v").rpartition(".")[0]
    if minor != stack.cluster.kubernetes:
        found = f"{oci.kubernetes!r}, and cluster.kubernetes is {stack.cluster.kubernetes!r}"
        yield Refusal("RW-303", "cluster.oci.kubernetes", found, "say the same version in both")
