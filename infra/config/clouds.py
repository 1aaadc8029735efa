"""What a cloud already has, and pools are put into: clusters, networks and roles by their ids."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from infra.config.base import Frozen

Arn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/.+$")]
"""Amazon resource name of a role."""


class Aws(Frozen):
    """An EKS cluster with its network; the stack adds node groups to it."""

    cluster: Annotated[str, Field(pattern=r"^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$")]
    """Its name in EKS."""
    vpc: Annotated[str, Field(pattern=r"^vpc-[0-9a-f]{8,17}$")]
    subnets: dict[str, Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]]
    """Private subnet by zone, such as ``us-east-1a``."""
    security_group: Annotated[str, Field(pattern=r"^sg-[0-9a-f]{8,17}$")]
    """The cluster's own security group, in which nodes reach its API server and each other."""
    node_role: Arn
    """Role of the nodes."""
    image: Literal["AL2023_x86_64_NVIDIA"] = "AL2023_x86_64_NVIDIA"
    """Kind of the nodes' image; it has driver and toolkit in it."""
    disk_gib: Annotated[int, Field(ge=50, le=16_384)] = 200
    """Root disk of a node, which holds images (GiB)."""


class GpuNetwork(Frozen):
    """One network beside the cluster's own, with the part of it that the pool's zone has."""

    network: Annotated[str, Field(min_length=1)]
    subnetwork: Annotated[str, Field(min_length=1)]


class Gcp(Frozen):
    """A GKE cluster with its networks; the stack adds node pools to it."""

    project: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$")]
    location: Annotated[str, Field(pattern=r"^[a-z]+-[a-z]+\d(-[a-z])?$")]
    """Region or zone that the cluster was made in."""
    cluster: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$")]
    """Its name in GKE; it needs Dataplane V2 and multi-networking for pools with a fabric."""
    networks: tuple[GpuNetwork, ...] = ()
    """Networks of the interfaces beside the first, in their order: plain ones before those of GPUs."""
    service_account: str = ""
    """Account of the nodes; empty: the project's default one, which may do more than they need."""
