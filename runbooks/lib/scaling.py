"""Replicas of a model, within the room that the plan leaves on its pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.errors import ConfigError
from infra.plan.manifests import model as manifests
from runbooks.engine.model import Outcome
from runbooks.lib import clients

if TYPE_CHECKING:
    from infra.plan.facts import ModelPlan
    from runbooks.engine.context import Context


@dataclass(frozen=True, slots=True)
class Room:
    """Replicas of one model (count)."""

    planned: int
    live: int
    """Asked for in the cluster now."""
    largest: int
    """Most that its pool holds, with every other model at its planned size."""

    @property
    def free(self) -> int:
        """How many more there may be."""
        return max(0, self.largest - self.live)


def planned(ctx: Context, model: str) -> ModelPlan:
    """The plan of a model.

    Raises:
        ConfigError: the stack serves no such model.
    """
    plan = clients.of(ctx).plan
    found = next((item for item in plan.models if item.name == model), None)
    if found is None:
        raise ConfigError(f"model {model!r} — stack {plan.stack!r} serves {', '.join(plan.served)} — name one of them")
    return found


def room(ctx: Context, model: str) -> Room:
    """How far a model may be scaled."""
    plan = planned(ctx, model)
    live = clients.of(ctx).kube.deployments.get(manifests.NAMESPACE, model).replicas
    return Room(plan.model.replicas, live, plan.model.replicas + plan.placement.free_replicas)


def refusals(ctx: Context, model: str, replicas: int) -> list[str]:
    """Reasons not to scale a model to a number of replicas, all of them."""
    found, pool = room(ctx, model), planned(ctx, model).pool.name
    reasons = []
    if replicas < 1:
        reasons.append(f"model {model!r} — {replicas} replicas serve nobody — ask for 1 or more")
    if replicas > found.largest:
        reasons.append(
            f"model {model!r} — {replicas} replicas, pool {pool!r} holds {found.largest} — add hosts to the pool first"
        )
    return reasons


def scale(ctx: Context, model: str, replicas: int) -> Outcome:
    """Scale a model; records how it was, and does not wait for the replicas."""
    if reasons := refusals(ctx, model, replicas):
        return Outcome.stop("; ".join(reasons))
    before = room(ctx, model).live
    ctx.record(scaled={"model": model, "before": before, "after": replicas})
    clients.of(ctx).kube.deployments.scale(manifests.NAMESPACE, model, replicas)
    return Outcome.ok(f"model {model!r} is asked for {replicas} replicas, before {before}", before=before)


def undo(ctx: Context, step: str) -> Outcome:
    """Scale a model back, unless somebody else has scaled it since; may run twice."""
    facts = ctx.facts.get(step, {}).get("scaled")
    if not facts:
        return Outcome.ok("nothing was scaled")
    model, deployments = facts["model"], clients.of(ctx).kube.deployments
    live = deployments.get(manifests.NAMESPACE, model).replicas
    if live == facts["after"]:
        deployments.scale(manifests.NAMESPACE, model, facts["before"])
        return Outcome.ok(f"model {model!r} has {facts['before']} replicas again")
    return Outcome.ok(f"model {model!r} is left at {live} replicas, as somebody scaled it since")
