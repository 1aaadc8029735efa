"""AWS: an EKS cluster that is there, or the network and the roles of one that the stack makes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infra.config.base import Frozen
from infra.config.clouds.base import Cidr, Cloud, System

Arn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::\d{12}:role/.+$")]
"""Amazon resource name of a role."""

Zone = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d[a-z]$")]
"""Availability zone, such as ``us-east-1a``."""


class AwsExisting(Frozen):
    """A cluster with its network; the stack adds node groups to it."""

    cluster: Annotated[str, Field(pattern=r"^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$")]
    """Its name in EKS."""
    vpc: Annotated[str, Field(pattern=r"^vpc-[0-9a-f]{8,17}$")]
    subnets: dict[str, Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]]
    """Private subnet by zone, such as ``us-east-1a``."""
    security_group: Annotated[str, Field(pattern=r"^sg-[0-9a-f]{8,17}$")]
    """The cluster's own security group, in which nodes reach its API server and each other."""
    node_role: Arn
    """Role of the nodes."""


class AwsMade(Frozen):
    """A cluster that the stack makes, in a network of its own."""

    zones: Annotated[tuple[Zone, ...], Field(min_length=2, max_length=6)]
    """Zones of the network; EKS wants its control plane in two at least."""
    network: Cidr = "10.0.0.0/16"
    """All of it; each zone has an eighth for hosts and pods."""
    services: Cidr = "172.20.0.0/16"
    """Addresses of services, which no other network may have."""
    api_from: tuple[Cidr, ...] = ()
    """Who reaches the API server from outside the network; none: only who is in it."""
    system: System = System(machine="m7i.2xlarge")


class Aws(Cloud):
    """Where pools on EKS go."""

    existing: AwsExisting | None = None
    made: AwsMade | None = None
    disk_gib: Annotated[int, Field(ge=50, le=16_384)] = 200
    """Root disk of a node, which holds images (GiB)."""
