"""Pools: homogeneous groups of hosts with one board and one fabric."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from infra.catalog.boards import BOARDS
from infra.catalog.shapes import SHAPES
from infra.config.base import Frozen, Labels, Name
from infra.config.capacity import Supply
from infra.config.gpu_operator import PoolOperator
from infra.config.machines import Machine
from infra.config.network import Network

BoardName = Literal["hgx-b300", "hgx-b200", "hgx-h200", "hgx-h100", "nvl72-gb200", "nvl72-gb300", "lab-host"]


class Pool(Frozen):
    """One homogeneous group of hosts: same board, same fabric."""

    shape: str = ""
    """Machine type by the cloud's own full name, such as ``p6-b300.48xlarge``; it brings board and fabric along."""
    board: BoardName
    hosts: Annotated[int, Field(ge=1, le=4096)]
    """Hosts in the pool, spares included (count)."""
    spare_hosts: Annotated[int, Field(ge=0)] = 0
    """Hosts that no replica is planned on, kept for the day one fails (count)."""
    fabric: Literal["roce", "infiniband", "efa", "none"] = "none"
    network: Network = Network()
    """How its pods get at the fabric."""
    hosts_per_leaf: Annotated[int, Field(ge=1, le=256)] = 16
    """Hosts one switch hop apart (count)."""
    zone: str = ""
    """Zone or availability domain of all its hosts: a fabric does not reach further."""
    supply: Supply = Supply()
    """How its hosts are had; of clouds only."""
    machines: tuple[Machine, ...] = ()
    """Its hosts by name, where they are there already (target baremetal); plays and proofs of hosts need them."""
    machines_file: str | None = None
    """A YAML or JSON list of them instead; relative to the clone."""
    gpu_operator: PoolOperator = PoolOperator()
    """What the GPU Operator does on its hosts."""
    tenant: Name | None = None
    """The only tenant whose models run here; left out, all tenants share the pool."""
    labels: Labels = Field(default={})
    """Labels of your own on each host of the pool."""
    usd_per_gpu_hour: Annotated[float, Field(gt=0)] | None = None
    """Price of one GPU, or of one host without GPUs (US dollars per hour); left out, nothing is said of cost."""

    @model_validator(mode="before")
    @classmethod
    def _shape_says_the_rest(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not isinstance(value.get("shape"), str):
            return value
        # One that is not known is refused with the nearest name, where all pools are seen; a board is needed here.
        shape = SHAPES.get(value["shape"])
        brought = {"board": shape.board, "fabric": shape.fabric} if shape else {"board": "hgx-h100"}
        return {**brought, **value}

    @model_validator(mode="after")
    def _one_host_must_serve(self) -> Self:
        if self.spare_hosts >= self.hosts:
            raise ValueError(f"spare_hosts={self.spare_hosts} leaves no host to serve; set it below hosts={self.hosts}")
        return self

    @model_validator(mode="after")
    def _fabric_needs_rails(self) -> Self:
        if self.fabric != "none" and BOARDS[self.board].rails == 0:
            raise ValueError(f"fabric={self.fabric!r} on board {self.board!r}, which has no rails; set fabric: none")
        return self

    @model_validator(mode="after")
    def _machines_stand_in_one_place(self) -> Self:
        if self.machines and self.machines_file is not None:
            raise ValueError("machines and machines_file; choose one of them")
        return self
