"""Who brings the GPU Operator to a cluster, and what of a host it owns there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from infra.catalog.ownership import Ownership
from infra.catalog.targets import TargetFacts
from infra.config.gpu_operator import GpuOperator


@dataclass(frozen=True, slots=True)
class GpuOperatorPlan:
    """The operator as the spec says it, with what it left open decided."""

    config: GpuOperator
    brought: Literal["install", "existing", "none"]
    """Who brings it."""

    @property
    def installs(self) -> bool:
        """Whether this stack does."""
        return self.brought == "install"


def planned(config: GpuOperator, target: TargetFacts, ownership: Ownership, *, has_gpus: bool) -> GpuOperatorPlan:
    """Decide who brings it; the lab's simulated hosts have what it would put on them."""
    needed = ownership.gpu_operator and has_gpus and not target.simulates_gpus
    return GpuOperatorPlan(config, config.operator or ("install" if needed else "existing"))
