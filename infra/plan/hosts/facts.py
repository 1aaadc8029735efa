"""One host as the inventory knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What decides which settings are for a host."""

    name: str
    pool: str
    board: str
    """Name of infra.catalog.boards."""
    fabric: str
    leaf: str = ""
    machine: Literal["metal", "virtual"] = "metal"
    kubernetes: bool = True
    """Whether it is in a cluster, or about to join one."""
