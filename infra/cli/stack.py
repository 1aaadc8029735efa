"""A stack file, read and planned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from infra.errors import ConfigError, Unknown

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
    return model_in(path, *planned(path), name)


def model_in(path: Path, spec: Spec, plan: Plan | None, name: str) -> ModelPlan:
    """Find one model of a stack that is planned already.

    Raises:
        ConfigError: the stack has no such model, or it cannot be planned.
        Unknown: nobody can tell what it would take.
    """
    found = next((item for item in plan.models if item.name == name), None) if plan else None
    if found is None:
        own = [refusal for refusal in (plan.refusals if plan else ()) if refusal.key.startswith(f"models.{name}.")]
        if own and all(refusal.is_unknown for refusal in own) and not spec.problems:
            raise Unknown("; ".join(f"{refusal.key}: {refusal.found}; {refusal.fix}" for refusal in own))
        if own:
            raise ConfigError(*spec.problems, *map(str, own))
        known = ", ".join(item.name for item in plan.models) if plan else ""
        raise ConfigError(
            *spec.problems,
            f"--model {name!r} — is no model that {path} can plan; "
            + (f"choose one of {known}" if known else "fix it"),
        )
    return found


def refused(spec: Spec, plan: Plan | None) -> list[str]:
    """All that is wrong with a stack: its mistakes, then what its plan refuses."""
    return [*spec.problems, *(str(refusal) for refusal in (plan.refusals if plan else ()))]
