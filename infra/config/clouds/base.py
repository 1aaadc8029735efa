"""What the clouds share: a cluster is there or is made, never both; networks are written as CIDR."""

from __future__ import annotations

from ipaddress import IPv4Network, ip_network
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from infra.config.base import Frozen


def _network(value: str) -> str:
    try:
        found = ip_network(value)
    except ValueError as error:
        raise ValueError(f"no network ({error}); write one such as 10.0.0.0/16") from error
    if not isinstance(found, IPv4Network):
        raise ValueError("of IPv6; write one of IPv4, such as 10.0.0.0/16")
    return value


Cidr = Annotated[str, AfterValidator(_network)]
"""A network of IPv4, such as ``10.0.0.0/16``."""


class System(Frozen):
    """Hosts without GPUs, on which whatever is no engine runs: DNS, operators, gateway, monitoring."""

    machine: Annotated[str, Field(min_length=1)]
    """Machine type by the cloud's own full name."""
    hosts: Annotated[int, Field(ge=1, le=100)] = 3
    """How many of them (count)."""


class Cloud(Frozen):
    """Base of what is said of one cloud."""

    existing: Any = None
    made: Any = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.existing is not None and self.made is not None:
            raise ValueError("existing and made; a cluster is there or the stack makes it, leave one of them out")
        if self.existing is None and self.made is None:
            raise ValueError("neither existing nor made; name the cluster that is there, or say how to make one")
        return self
