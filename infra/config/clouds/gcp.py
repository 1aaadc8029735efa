"""Google Cloud: a GKE cluster that is there, or the networks of one that the stack makes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infra.config.base import Frozen
from infra.config.clouds.base import Cidr, Cloud, System


class GpuNetwork(Frozen):
    """One network beside the cluster's own, with the part of it that the pool's zone has."""

    network: Annotated[str, Field(min_length=1)]
    subnetwork: Annotated[str, Field(min_length=1)]


class GcpExisting(Frozen):
    """A cluster with its networks; the stack adds node pools to it."""

    location: Annotated[str, Field(pattern=r"^[a-z]+-[a-z]+\d(-[a-z])?$")]
    """Region or zone that the cluster was made in."""
    cluster: Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$")]
    """Its name in GKE; it needs Dataplane V2 and multi-networking for pools with a fabric."""
    networks: tuple[GpuNetwork, ...] = ()
    """Networks of the interfaces beside the first, in their order: plain ones before those of GPUs."""


class GcpMade(Frozen):
    """A regional cluster that the stack makes, with a network for each interface of its hosts."""

    network: Cidr = "10.0.0.0/18"
    """Addresses of hosts."""
    pods: Cidr = "10.64.0.0/14"
    services: Cidr = "10.68.0.0/20"
    further: Cidr = "192.168.0.0/16"
    """Networks of the interfaces beside the first: a sixteenth for each."""
    api_from: tuple[Cidr, ...] = ()
    """Who reaches the API server from outside the network; none: only who is in it."""
    system: System = System(machine="n2-standard-8")
    """Hosts are spread over the zones of the region."""


class Gcp(Cloud):
    """Where pools on GKE go."""

    project: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$")]
    existing: GcpExisting | None = None
    made: GcpMade | None = None
    service_account: str = ""
    """Account of the nodes; empty: one that the stack makes along with a cluster, else the project's default one, which
    may do more than they need."""
