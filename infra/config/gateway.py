"""The gateway: how many, how it is reached, how long an answer may take, and how it leaves."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from infra.config.base import Duration, Frozen
from infra.units import MIB

Port = Annotated[int, Field(ge=1024, le=65535)]


class GatewayResources(Frozen):
    """What one gateway pod asks for."""

    cpus: Annotated[float, Field(gt=0)] = 2.0
    """CPUs requested (count); Envoy starts one worker for each, rounded up."""
    memory_gib: Annotated[float, Field(ge=0.125)] = 2.0
    """Memory limit (GiB); Envoy refuses new requests before it is reached."""


class Tls(Frozen):
    """HTTPS; a renewed certificate is used at once, without a restart."""

    secret_name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$")]
    """Secret of type kubernetes.io/tls in the gateway's namespace; whoever issues certificates writes and renews it."""
    plain_http: bool = False
    """Whether the same port also answers plain HTTP, where keys can be read on the way.

    Pods then start without the Secret too; otherwise they wait for it.
    """


class Gateway(Frozen):
    """The one door to all models, for clients with a key."""

    image: str
    """Image with Envoy 1.40 and bash; by digest, or by name when the image lock knows its digest."""
    replicas: Annotated[int, Field(ge=1, le=256)] = 2
    """Gateway pods (count); two or more, so that one may leave."""
    service: Literal["ClusterIP", "NodePort", "LoadBalancer"] = "ClusterIP"
    """Kind of Service in front of the pods."""
    port: Port = 8080
    """Port of the API."""
    node_port: Annotated[int, Field(ge=30000, le=32767)] | None = None
    """Port on every host, for ``service: NodePort``; left out, Kubernetes picks one."""
    tls: Tls | None = None
    """Certificate of the API; left out, it speaks plain HTTP only."""
    longest_answer: Duration = timedelta(minutes=10)
    """Longest that one request may take, from its first byte in to its last byte out.

    Source: openai-python gives up after 10 minutes by default.
    """
    idle_timeout: Duration = timedelta(minutes=2)
    """Longest silence within a streamed answer, the wait for its first token included."""
    load_balancer_timeout: Duration | None = None
    """When a load balancer in front of the gateway cuts a connection; left out, there is none."""
    max_request_mib: Annotated[int, Field(ge=1, le=64)] = 8
    """Largest request body (MiB); a prompt of a million tokens takes about 4."""
    pre_stop: Duration = timedelta(seconds=10)
    """How long a leaving pod still accepts requests, until no host sends it any."""
    drain: Duration = timedelta(minutes=10)
    """Longest wait of a leaving pod for its open answers; it ends with the last of them."""
    resources: GatewayResources = GatewayResources()

    @property
    def max_request_bytes(self) -> int:
        """Largest request body (bytes)."""
        return self.max_request_mib * MIB

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.node_port is not None and self.service != "NodePort":
            raise ValueError(f"node_port={self.node_port} has no effect with service={self.service!r}; set NodePort")
        if self.idle_timeout > self.longest_answer:
            raise ValueError("idle_timeout is longer than longest_answer, so it would never act; lower it")
        return self
