"""What the gateway must know, and nothing about how Envoy is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from infra.units import GIB, MIB

Scopes = tuple[tuple[str, ...], ...]
"""Distinct sets of models that keys open; the place of a set is its number."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where the replicas of one model answer."""

    model: str
    """Name that clients send in ``model``; the engine must serve it under the same name."""
    host: str
    """DNS name with one address per ready replica: the headless Service, fully qualified, with its final dot."""
    port: int
    """Port of the engine on every replica."""


@dataclass(frozen=True, slots=True)
class ClientKey:
    """One API key and whom it stands for; the value never shows in ``repr``."""

    id: str
    """Name of the key in logs; letters, digits and hyphens."""
    tenant: str
    """Tenant that owns the key."""
    tier: str
    """Service tier of the key."""
    value: str = field(repr=False)
    """What clients send after ``Bearer``."""
    models: tuple[str, ...] | None = None
    """Models that the key may use; None for all of them."""

    def may_use(self, model: str) -> bool:
        """Tell whether the key opens this model."""
        return self.models is None or model in self.models


@dataclass(frozen=True, slots=True)
class Tls:
    """How the API is encrypted."""

    source: str
    """File with the document that ``certificate_source`` writes."""
    plain_http: bool
    """Whether the same port also answers clients that do not encrypt."""


@dataclass(frozen=True, slots=True)
class GatewayRoutes:
    """All that one gateway replica serves, to whom, and for how long."""

    models: tuple[Upstream, ...]
    """Every model behind this gateway, each once."""
    keys: tuple[ClientKey, ...]
    """Every key, each id once."""
    longest_answer: timedelta
    """Longest that one request may take, from its first byte in to the last byte out."""
    idle_timeout: timedelta
    """Longest silence inside a streamed answer; a whole answer may be silent for ``longest_answer``."""
    tls: Tls | None = None
    """How the API is encrypted; None leaves it readable on the wire."""
    max_request_bytes: int = 8 * MIB
    """Largest request body (bytes)."""
    max_heap_bytes: int = GIB
    """Envoy's own memory at which it refuses new requests (bytes); keep it below the container's limit."""
    port: int = 8080
    """Port of the API."""
    stats_port: int = 9902
    """Port of ``/ready`` and ``/stats/prometheus``; reachable from outside the pod, nothing secret on it."""
    admin_port: int = 9901
    """Port of Envoy's own administration, on 127.0.0.1 only: it shows the configuration and ends the process."""

    def opened_by(self, key: ClientKey) -> tuple[str, ...]:
        """List the models that a key may use."""
        return tuple(upstream.model for upstream in self.models if key.may_use(upstream.model))

    @property
    def scopes(self) -> Scopes:
        """Sets of models that keys open, each once: routes are written per scope, so they do not grow with keys."""
        return tuple(dict.fromkeys(self.opened_by(key) for key in self.keys))

    @property
    def tiers(self) -> tuple[str, ...]:
        """Tiers of the keys, each once."""
        return tuple(sorted({key.tier for key in self.keys}))
