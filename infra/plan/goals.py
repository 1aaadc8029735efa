"""A model against its goal: its speed and price as planned, and the cheapest way that would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil

from infra.catalog.gpus import Gpu
from infra.config.evidence import Evidence
from infra.config.goal import Goal
from infra.errors import ConfigError, Unknown
from infra.plan.choice import Choice, Miss, Option, Place, attempt, choose
from infra.plan.cost import Work, cost, priced_units, work_of
from infra.plan.facts import ModelPlan
from infra.plan.formats import allowed
from infra.plan.sized import version_of
from infra.plan.speed import Load, Speed, predictor
from infra.plan.spread import End, at_worst, on_the_mean

SHORT_OF = {
    "weights": "GPU memory for the weights",
    "context": "GPU memory for one longest request",
    "concurrency": "GPU memory for the requests at once",
    "first_token_s": "time to the first token",
    "token_s": "time between tokens",
    "tokens_per_s": "tokens per second",
    "hosts": "hosts of its pool",
    "": "the size of one GPU",
}
"""What binds a choice, in words for people."""


def priced(plan: ModelPlan, evidence: Iterable[Evidence]) -> ModelPlan:
    """Add speed, cost and choice to a model, as far as its goal, its pool's price and the calibration go."""
    goal, gpu = plan.model.goal, plan.pool.board.gpu
    speed, work = _pace(plan, goal, gpu) if goal and gpu else (None, None)
    price, replicas = plan.pool.price, plan.model.replicas
    held = priced_units(plan.pool.board, max(1, plan.placement.hosts))
    used = replicas * plan.layout.gpus if gpu else held
    share = min(1.0, goal.concurrency / (replicas * _busy(plan, goal))) if goal else 1.0
    paid = cost(price, used=used, held=held, replicas=replicas, work=work, share=share) if price else None
    if goal is None or gpu is None:
        return replace(plan, cost=paid)
    found = choose(
        plan.shape,
        _place(plan),
        goal,
        max_len=plan.model.max_model_len,
        formats=allowed(plan.shape, evidence, gpu),
    )
    return replace(plan, speed=speed, cost=paid, choice=found)


def notes(plan: ModelPlan) -> Iterator[str]:
    """Say where a plan and its goal part, and what would meet it for less."""
    if not plan.model.goal or not plan.choice:
        return
    who = f"models.{plan.name}"
    if short := _as_planned(plan, plan.model.goal, at_worst):
        is_likely = not _as_planned(plan, plan.model.goal, on_the_mean)
        found = (
            "meets its goal only if the prediction is right on the mean, else is" if is_likely else "misses its goal,"
        )
        yield f"{who}: as planned it {found} short of {short}{_instead(plan.choice)}"
    elif plan.choice.best and plan.choice.best.gpus < plan.model.replicas * plan.layout.gpus:
        yield (
            f"{who}: {plan.model.replicas * plan.layout.gpus} GPUs are planned{_instead(plan.choice)}; less does not "
            f"do for {SHORT_OF.get(plan.choice.binds, plan.choice.binds)}"
        )
    if plan.speed and plan.speed.extrapolated:
        yield f"{who}: its speed is extrapolated in {', '.join(plan.speed.extrapolated)}; measure before you promise"
    yield from (f"{who}: {note}" for note in (plan.speed.notes if plan.speed else ()))


def _pace(plan: ModelPlan, goal: Goal, gpu: Gpu) -> tuple[Speed | None, Work | None]:
    """Speed of a replica as planned, and what it gets done; None where nobody can tell."""
    load = Load(goal.prompt, goal.output, _busy(plan, goal))
    try:
        at = predictor(plan.shape, plan.layout, gpu, plan.engine, plan.format.weights, kv_dtype=plan.format.cache)
        speed, alone = at(load), at(replace(load, concurrency=1))
    except (Unknown, ConfigError):
        return None, None
    return speed, work_of(speed, alone, load)


def _busy(plan: ModelPlan, goal: Goal) -> int:
    """Requests that one replica answers at once when the goal's are shared out (count)."""
    return min(plan.max_seqs * plan.layout.data, ceil(goal.concurrency / plan.model.replicas)) or 1


def _place(plan: ModelPlan) -> Place:
    """Hosts that the model has, and those that nobody has."""
    held, each = plan.placement, plan.placement.replicas_per_host
    usable = plan.pool.pool.hosts - plan.pool.pool.spare_hosts
    hosts = held.hosts + held.free_replicas // each if each else usable
    return Place(plan.pool.board, plan.engine, version_of(plan.model), hosts)


def _as_planned(plan: ModelPlan, goal: Goal, end: End) -> str:
    """What a plan is short of to meet its goal at one end of the error; empty when it meets it."""
    way = attempt(
        plan.shape, _place(plan), goal, max_len=plan.model.max_model_len, layout=plan.layout, form=plan.format, end=end
    )
    if isinstance(way, Miss):
        return SHORT_OF.get(way.because, way.because)
    missing = way.replicas - plan.model.replicas
    return f"{missing} replicas for {SHORT_OF.get(way.spread.binds, way.spread.binds)}" if missing > 0 else ""


def _instead(choice: Choice) -> str:
    best, mean = choice.best, "if the prediction is right on the mean"
    if best is None:
        return "; nothing on its pool meets it" + (
            f" for sure, {said(choice.likely)} does {mean}" if choice.likely else ""
        )
    return f"; {said(best)} would do" + (f", replicas: {best.likely} {mean}" if best.likely < best.replicas else "")


def said(option: Option) -> str:
    """Name an option in words of the stack file."""
    layout = option.layout
    parts = [f"replicas: {option.replicas}", f"tensor_parallel: {layout.tensor}"]
    parts += [f"pipeline_parallel: {layout.pipeline}"] if layout.pipeline > 1 else []
    parts += [f"data_parallel: {layout.data}"] if layout.data > 1 else []
    parts += ["expert_parallel: true"] if layout.expert_parallel else []
    return f"{', '.join(parts)} in {option.format} ({option.gpus} GPUs)"
