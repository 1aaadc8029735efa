"""OCI: an OKE cluster that is there, or the network of one that the stack makes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from infra.config.base import Frozen
from infra.config.clouds.base import Cidr, Cloud, System


def _ocid(kind: str) -> str:
    return rf"^ocid1\.{kind}\.oc\d+\.[a-z0-9-]*\.\S+$"


class OciExisting(Frozen):
    """A cluster with its network; the stack adds node pools and hosts that join by themselves."""

    cluster: Annotated[str, Field(pattern=_ocid("cluster"))]
    subnet: Annotated[str, Field(pattern=_ocid("subnet"))]
    """Private subnet of hosts."""
    security_groups: tuple[Annotated[str, Field(pattern=_ocid("networksecuritygroup"))], ...] = ()
    """Of hosts, in which they reach the API server and each other."""
    api_host: Annotated[str, Field(pattern=r"^\d+(\.\d+){3}$")]
    """Private address of the API server, which hosts join at."""
    api_ca: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/=]{16,}$")]
    """Its authority's certificate in base64, as ``certificate-authority-data`` of a kubeconfig has it."""


class OciMade(Frozen):
    """A cluster that the stack makes, in a network of its own."""

    network: Cidr = "10.0.0.0/16"
    """All of it; hosts have the first half."""
    pods: Cidr = "10.244.0.0/16"
    """Addresses of pods, an overlay over the network."""
    services: Cidr = "10.96.0.0/16"
    api_from: tuple[Cidr, ...] = ()
    """Who reaches the API server from outside the network; none: only who is in it."""
    zone: Annotated[str, Field(min_length=1)]
    """Availability domain of the hosts without GPUs."""
    system: System = System(machine="VM.Standard.E5.Flex")
    system_image: Annotated[str, Field(pattern=_ocid("image"))]
    """Image of those hosts: one of OKE's own."""


class Oci(Cloud):
    """Where pools on OKE go."""

    compartment: Annotated[str, Field(pattern=_ocid("compartment"))]
    existing: OciExisting | None = None
    made: OciMade | None = None
    kubernetes: Annotated[str, Field(pattern=r"^v1\.\d+\.\d+$")]
    """Version of hosts, and of a cluster that is made, such as ``v1.34.1``: OKE wants all of it."""
    image: Annotated[str, Field(pattern=_ocid("image"))]
    """Image of GPU hosts: Ubuntu with OFED, driver and the ``oke`` program in it (oci-hpc-oke, worker-node-images)."""
    disk_gib: Annotated[int, Field(ge=50, le=32_768)] = 512
    """Boot volume of a host, which holds images (GiB)."""
