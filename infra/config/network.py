"""Network: how pods of one pool get at its fabric, and which addresses they have there."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from infra.config.base import INTERFACE_PATTERN, Frozen
from infra.config.blocks import Block

MOST_FUNCTIONS = 127
"""Virtual functions of one NIC at most (count). Source: NVIDIA ConnectX-7 and ConnectX-8 user guides, NUM_OF_VFS."""

PKEY_PATTERN = r"^0x[0-9a-f]{1,4}$"
"""Partition key of InfiniBand. Source: InfiniBand specification, 16 bits; opensm partition-config."""


class Network(Frozen):
    """The fabric of one pool as its pods see it; left out, as its target usually has it."""

    mode: Literal["shared", "sriov", "host-device"] | None = None
    """``shared``: pods of a host see all its devices; ``sriov``: each pod has functions of its own; ``host-device``: a
    whole NIC of each rail goes into one pod. Left out: the target's default."""
    mtu: Annotated[int, Field(ge=1_280, le=65_520)] | None = None
    """Of each interface (bytes); left out: what the fabric has."""
    link: Literal["ethernet", "infiniband"] | None = None
    """What the ports speak; only told so that it is checked against the fabric."""
    subnet: Block | None = None
    """One block for all rails, of which each gets an equal part in their order."""
    subnets: tuple[Block, ...] = ()
    """One block for each rail instead."""
    gateway: Literal["none", "first"] = "none"
    """``first``: the first address of each block is a router towards other rails."""
    routed: bool = False
    """Whether each host has a prefix of its own, whose first address is its leaf; else a rail is one network."""
    addresses_per_host: Annotated[int, Field(ge=1, le=1_024)] | None = None
    """Addresses that a host's pods may have on each rail (count); left out: as many as it has room for."""
    functions: Annotated[int, Field(ge=1, le=MOST_FUNCTIONS)] | None = None
    """Virtual functions of each rail with ``sriov``, and so pods with a fabric on one host (count)."""
    partition: Annotated[str, Field(pattern=PKEY_PATTERN)] | None = None
    """InfiniBand partition of the pods, such as ``0x8002``; with ``sriov``."""
    interfaces: tuple[Annotated[str, Field(pattern=INTERFACE_PATTERN)], ...] = ()
    """Names of the rails on every host, in their order; left out: those of the machines, else rail0, rail1 and on."""

    @model_validator(mode="after")
    def _addresses_are_said_once(self) -> Self:
        if self.subnet is not None and self.subnets:
            raise ValueError("subnet and subnets; write one block for all rails, or one for each")
        addressed = self.subnet is not None or self.subnets
        for key in ("routed", "addresses_per_host"):
            if getattr(self, key) and not addressed:
                raise ValueError(f"{key} without addresses; name them under subnet, or leave {key} out")
        return self

    @model_validator(mode="after")
    def _functions_are_of_sriov(self) -> Self:
        for key in ("functions", "partition"):
            if getattr(self, key) is not None and self.mode != "sriov":
                raise ValueError(f"{key} without mode: sriov; set the mode, or leave {key} out")
        return self
