"""What changes between two plans: memory, batch, start-up and cost of each model and pool, and of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from infra.plan.facts import ModelPlan, Plan, PoolPlan

Unit = Literal["bytes", "count", "seconds", "usd", "tokens", "text"]
"""What a figure counts; ``usd`` is US dollars."""

Value = int | float | str | None

Item = TypeVar("Item", ModelPlan, PoolPlan)


@dataclass(frozen=True, slots=True)
class Change:
    """One figure that two plans do not agree on."""

    key: str
    """Whose figure, such as ``models.chat``; ``stack`` for the whole."""
    figure: str
    unit: Unit
    before: Value
    """None: not there, or nobody can tell."""
    after: Value

    @property
    def grows_by(self) -> float | None:
        """After less before; None where one of them is no number."""
        if isinstance(self.before, int | float) and isinstance(self.after, int | float):
            return self.after - self.before
        return None


MODEL_FIGURES: Mapping[str, tuple[Unit, Callable[[ModelPlan], Value]]] = {
    "architecture": ("text", lambda model: model.shape.name),
    "engine": ("text", lambda model: f"{model.model.engine} {model.model.engine_version}"),
    "pool": ("text", lambda model: model.pool.name),
    "replicas": ("count", lambda model: model.model.replicas),
    "GPUs of a replica": ("count", lambda model: model.layout.gpus),
    "format": ("text", lambda model: str(model.format)),
    "requests in a batch": ("count", lambda model: model.max_seqs),
    "tokens in a batch": ("tokens", lambda model: model.batched_tokens),
    "weights of a rank": ("bytes", lambda model: model.memory.weights),
    "activation of a rank": ("bytes", lambda model: model.memory.activation),
    "graphs of a rank": ("bytes", lambda model: model.memory.graphs),
    "runtime of a rank": ("bytes", lambda model: model.memory.runtime),
    "KV pool of a rank": ("bytes", lambda model: model.memory.kv_pool),
    "KV tokens": ("tokens", lambda model: model.memory.kv_tokens),
    "longest request": ("tokens", lambda model: model.memory.longest(model.shape.max_context)),
    "memory of a pod": ("bytes", lambda model: model.pod_memory.limit),
    "reading weights": ("seconds", lambda model: model.startup.read),
    "copying weights": ("seconds", lambda model: model.startup.copy),
    "compile": ("seconds", lambda model: model.startup.compile),
    "graph capture": ("seconds", lambda model: model.startup.capture),
    "first prompt": ("seconds", lambda model: model.startup.prompt),
    "startup budget": ("seconds", lambda model: model.startup.budget),
    "cost per hour": ("usd", lambda model: _paid(model, "usd_per_hour")),
    "cost per hour of its hosts": ("usd", lambda model: _paid(model, "floor_usd_per_hour")),
    "cost per request": ("usd", lambda model: _paid(model, "usd_per_request")),
    "cost per million tokens in": ("usd", lambda model: _paid(model, "usd_per_million_in")),
    "cost per million tokens out": ("usd", lambda model: _paid(model, "usd_per_million_out")),
}
"""What two plans of a model are compared by, and how to read it."""

POOL_FIGURES: Mapping[str, tuple[Unit, Callable[[PoolPlan], Value]]] = {
    "board": ("text", lambda pool: pool.board.name),
    "hosts": ("count", lambda pool: pool.pool.hosts),
    "cost per hour": ("usd", lambda pool: pool.usd_per_hour),
}
"""What two plans of a pool are compared by, and how to read it."""


def difference(before: Plan, after: Plan) -> tuple[Change, ...]:
    """List the figures that differ, pool by pool, model by model, and what the whole costs."""
    changes = [
        *_between("pools", before.pools, after.pools, POOL_FIGURES),
        *_between("models", before.models, after.models, MODEL_FIGURES),
        Change("stack", "GPUs", "count", _gpus(before), _gpus(after)),
        Change("stack", "cost per hour", "usd", usd_per_hour(before), usd_per_hour(after)),
        Change("stack", "refusals", "count", len(before.refusals), len(after.refusals)),
    ]
    return tuple(change for change in changes if change.before != change.after)


def usd_per_hour(plan: Plan) -> float | None:
    """What all hosts of a stack cost, busy or not; None when the price of one pool is not known (US dollars)."""
    paid = [pool.usd_per_hour for pool in plan.pools]
    return None if None in paid else sum(hourly or 0 for hourly in paid)


def _paid(model: ModelPlan, figure: str) -> float | None:
    found: float | None = getattr(model.cost, figure) if model.cost else None
    return found


def _gpus(plan: Plan) -> int:
    return sum(pool.gpus for pool in plan.pools)


def _between(
    section: str,
    before: Iterable[Item],
    after: Iterable[Item],
    figures: Mapping[str, tuple[Unit, Callable[[Item], Value]]],
) -> Iterator[Change]:
    old: dict[str, Item] = _by_name(before)
    new: dict[str, Item] = _by_name(after)
    for name in dict.fromkeys((*old, *new)):
        for figure, (unit, read) in figures.items():
            was = read(old[name]) if name in old else None
            becomes = read(new[name]) if name in new else None
            yield Change(f"{section}.{name}", figure, unit, was, becomes)


def _by_name(items: Iterable[Item]) -> dict[str, Item]:
    return {item.name: item for item in items}
