"""Azure: an AKS cluster that is there, or the network of one that the stack makes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infra.config.base import Frozen
from infra.config.clouds.base import Cidr, Cloud, System

Uuid = Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
"""Id of a subscription or of a group of people."""


class AzureExisting(Frozen):
    """A cluster with its network; the stack adds agent pools to it."""

    cluster: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")]
    """Its name in AKS."""
    subnet: Annotated[str, Field(pattern=r"^/subscriptions/.+/subnets/[^/]+$")]
    """Resource id of the subnet that hosts go into."""


class AzureMade(Frozen):
    """A cluster that the stack makes, in a network of its own."""

    network: Cidr = "10.0.0.0/16"
    """All of it; hosts have the first half."""
    pods: Cidr = "10.244.0.0/16"
    """Addresses of pods, an overlay over the network."""
    services: Cidr = "172.20.0.0/16"
    admins: Annotated[tuple[Uuid, ...], Field(min_length=1)]
    """Groups of Entra ID whose members may do everything; there are no local accounts."""
    api_from: tuple[Cidr, ...] = ()
    """Who reaches the API server from outside the network; none: only who is in it."""
    system: System = System(machine="Standard_D8ds_v5")


class Azure(Cloud):
    """Where pools on AKS go."""

    subscription: Uuid
    resource_group: Annotated[str, Field(pattern=r"^[-\w.()]{1,90}$")]
    """Group that is there, of the cluster and all that the stack makes."""
    existing: AzureExisting | None = None
    made: AzureMade | None = None
    disk_gib: Annotated[int, Field(ge=128, le=2_048)] = 512
    """Root disk of a host, which holds images (GiB)."""
