"""Fabric: what serves the fabrics of all pools, once in a cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from infra.config.base import HOST_PATTERN, Frozen, Registry
from infra.config.blocks import Block

PartName = Literal["efa-plugin", "gib", "tcpxo", "tcpxo-host", "tcpxo-daemon", "device-injector"]
"""Programs of clouds that a stack can put on hosts. Source: ``infra/catalog/fabrics/images.py``, held equal by a
test."""


class FabricConfig(Frozen):
    """What is the same for all pools with a fabric."""

    operator: Literal["install", "existing"] = "install"
    """Whether the stack brings the Network Operator, where its target needs it, or finds one."""
    plugins: Literal["install", "existing"] = "install"
    """Likewise for a cloud's own: the EFA plugin, Google's installers."""
    images: dict[PartName, str] = Field(default={})
    """Image of each of those, by digest or by a name in the lock; without one it is not installed."""
    registry: Registry | None = None
    """Where the Network Operator's own images are mirrored, such as ``mirror.example.com/mellanox``; left out: where
    they are published."""
    used: tuple[Block, ...] = ()
    """Blocks that pods, services and hosts of the cluster have already; rails stay clear of them."""
    ufm_secret: Annotated[str, Field(pattern=HOST_PATTERN)] = ""
    """Secret with which InfiniBand partitions are set at the fabric's manager, in the Network Operator's namespace."""
