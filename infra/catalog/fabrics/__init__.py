"""Fabrics: every way in which pods get at one, by target, fabric, machine type and mode."""

from __future__ import annotations

from infra.catalog.fabrics import clouds, nvidia
from infra.catalog.fabrics.access import Access, Asks, HostFolder, Mode

ACCESSES: tuple[Access, ...] = (*nvidia.ACCESSES, *clouds.ACCESSES)
"""All of them; the first of a target, fabric and transport is its default."""


def offered(target: str, fabric: str, transport: str) -> tuple[Access, ...]:
    """Ways to the fabric of one kind of host, the default first."""
    return tuple(row for row in ACCESSES if (row.target, row.fabric, row.transport) == (target, fabric, transport))


__all__ = ["ACCESSES", "Access", "Asks", "HostFolder", "Mode", "offered"]
