"""What an account must have before a stack can be made: quotas by name and number, features and rights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from infra.catalog.shapes import Shape
from infra.config.clouds import Aws, Azure, Cloud, Gcp, Oci
from infra.config.stack import Stack
from infra.plan.facts import PoolPlan

INFINIBAND = "Microsoft.ContainerService/AKSInfinibandSupport"
"""Feature with which hosts of an agent pool land on one InfiniBand fabric. Source: aks-rdma-infiniband,
prerequisites; it must be registered before the pool is made."""

JOINS = "Allow dynamic-group {group} to {{CLUSTER_JOIN}} in compartment id {compartment}"
"""Right of a host that joins by itself. Source: OKE, self-managed nodes."""

RACKS = tuple(
    f"Allow any-user to {right} in tenancy where all {{request.principal.type = 'compute-gpu-memory-clusters'}}"
    for right in ("manage instance-family", "use virtual-network-family", "read compute-management-family")
)
"""Rights of what launches trays of a rack. Source: oci-hpc-oke 26.7.0, terraform/iam.tf."""


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that the account must have."""

    kind: Literal["quota", "feature", "right"]
    name: str
    """As the cloud calls it, to be looked up or asked for by."""
    place: str
    """Region, zone or account that it is of."""
    amount: int | None
    """How much of it in all; None where it is there or not (count)."""
    unit: str
    """What is counted; empty where nothing is."""
    for_whom: str
    """What needs it."""
    source: str


def needs(stack: Stack, pools: Iterable[PoolPlan]) -> tuple[Need, ...]:
    """All that a stack needs of its account, quotas of one name and place together."""
    cloud, region = stack.cluster.cloud, stack.cluster.region
    if cloud is None:
        return ()
    listed = [(pool, pool.shape) for pool in pools if pool.shape and pool.shape.target == stack.cluster.target]
    found = [quota for pool, shape in listed if (quota := _quota(pool, shape, region))]
    return (*_summed(found), *_of(cloud, region, listed))


def _quota(pool: PoolPlan, shape: Shape, region: str) -> Need | None:
    quota = shape.quota
    if quota is None or pool.pool.supply.kind not in quota.kinds:
        return None
    place = pool.pool.zone if shape.target == "oci" else region
    who = f"pool {pool.name}"
    return Need("quota", quota.name, place, quota.per_host * pool.pool.hosts, quota.unit, who, quota.source)


def _summed(found: Iterable[Need]) -> Iterator[Need]:
    by_name: dict[tuple[str, str], Need] = {}
    for need in found:
        same = by_name.get((need.name, need.place))
        if same:
            amount = (same.amount or 0) + (need.amount or 0)
            need = replace(same, amount=amount, for_whom=f"{same.for_whom}, {need.for_whom}")  # noqa: PLW2901
        by_name[need.name, need.place] = need
    yield from by_name.values()


def _of(cloud: Cloud, region: str, listed: list[tuple[PoolPlan, Shape]]) -> Iterator[Need]:
    match cloud:
        case Aws():
            yield from _aws(cloud, region)
        case Gcp():
            yield from _gcp(cloud, listed)
        case Azure():
            yield from _azure(cloud, listed)
        case Oci():
            yield from _oci(cloud, listed)


def _aws(aws: Aws, region: str) -> Iterator[Need]:
    if aws.made:
        source = "Service Quotas of VPC and EC2"
        addresses = len(aws.made.zones)
        yield Need("quota", "VPCs per Region (L-F678F1CE)", region, 1, "VPCs", "cluster", source)
        yield Need("quota", "EC2-VPC Elastic IPs (L-0263D0A3)", region, addresses, "addresses", "cluster", source)


def _gcp(gcp: Gcp, listed: list[tuple[PoolPlan, Shape]]) -> Iterator[Need]:
    if gcp.made:
        source = "Compute Engine, VPC quotas"
        shapes = [shape for pool, shape in listed if pool.pool.fabric != "none"]
        nics = max((shape.nics for shape in shapes), key=len, default=())
        plain = sum(nic.kind != "rdma" for nic in nics)
        networks = 1 + plain + any(nic.kind == "rdma" for nic in nics)
        yield Need("quota", "NETWORKS", gcp.project, networks, "networks", "cluster", source)
        yield Need("quota", "SUBNETWORKS", gcp.project, 1 + len(nics), "subnetworks", "cluster", source)


def _azure(azure: Azure, listed: list[tuple[PoolPlan, Shape]]) -> Iterator[Need]:
    fabric = ", ".join(f"pool {pool.name}" for pool, _ in listed if pool.pool.fabric == "infiniband")
    if fabric:
        yield Need("feature", INFINIBAND, azure.subscription, None, "", fabric, "aks-rdma-infiniband, prerequisites")
    for pool, _ in listed:
        if pool.pool.supply.reservation and azure.existing:
            right = f"Contributor of the cluster's identity on {pool.pool.supply.reservation}"
            source = "AKS, use capacity reservation groups: an identity of its own, not the system's"
            yield Need("right", right, azure.subscription, None, "", f"pool {pool.name}", source)


def _oci(oci: Oci, listed: list[tuple[PoolPlan, Shape]]) -> Iterator[Need]:
    joined = [pool for pool, _ in listed if pool.pool.fabric != "none"]
    if joined:
        group = f"of instances in {oci.compartment}"
        right = JOINS.format(group=f"<{group}>", compartment=oci.compartment)
        who = ", ".join(f"pool {pool.name}" for pool in joined)
        yield Need("right", right, oci.compartment, None, "", who, "OKE, self-managed nodes; made in the home region")
    racks = ", ".join(f"pool {pool.name}" for pool in joined if pool.board.name.startswith("nvl72"))
    for right in RACKS if racks else ():
        yield Need("right", right, "tenancy", None, "", racks, "oci-hpc-oke 26.7.0, terraform/iam.tf")
