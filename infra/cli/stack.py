"""A stack file, read and planned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from infra.errors import ConfigError

if TYPE_CHECKING:
    from infra.config.stack import Spec
    from infra.plan.facts import ModelPlan, Plan


def planned(path: Path) -> tuple[Spec, Plan | None]:
    """Read and plan a stack file; there is no plan when a part that everything needs is missing."""
    from infra.config.load import from_file
    from infra.plan.build import build

    spec = from_file(path)
    return spec, build(spec, spec.stack) if spec.stack else None


def model_of(path: Path, name: str) -> ModelPlan:
    """Find one model of a stack file."""
    spec, plan = planned(path)
    found = next((item for item in plan.models if item.name == name), None) if plan else None
    if found is None:
        known = ", ".join(item.name for item in plan.models) if plan else ""
        raise ConfigError(
            *spec.problems,
            f"--model {name!r} — is no model that {path} can plan; "
            + (f"choose one of {known}" if known else "fix it"),
        )
    return found
