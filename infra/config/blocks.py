"""Blocks of addresses, as a spec writes them."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Annotated, Any

from pydantic import BeforeValidator


def _block(value: Any) -> Any:
    if isinstance(value, IPv4Network | IPv6Network):
        return value
    if not isinstance(value, str) or "/" not in value:
        raise ValueError("no block of addresses; write it with its prefix length, like 10.128.0.0/16")
    try:
        return ip_network(value)
    except ValueError:
        pass
    try:
        meant = ip_network(value, strict=False)
    except ValueError:
        raise ValueError("no block of addresses; write it with its prefix length, like 10.128.0.0/16") from None
    raise ValueError(f"an address in a block; write the block itself, {meant}")


Network = IPv4Network | IPv6Network
"""One block of addresses."""

Block = Annotated[Network, BeforeValidator(_block)]
"""A block as ``10.128.0.0/16``; its own first address, not one of a host in it."""


def overlap(first: Network, second: Network) -> bool:
    """Whether two blocks have an address in common; those of different families never do."""
    if isinstance(first, IPv4Network):
        return isinstance(second, IPv4Network) and first.overlaps(second)
    return isinstance(second, IPv6Network) and first.overlaps(second)
