"""From spec to plan: one pass, nothing read and nothing written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from infra.catalog.boards import BOARDS
from infra.catalog.shapes import SHAPES
from infra.catalog.targets import LAB_HOSTS, LAB_SSH_CONFIG, TARGETS, TargetFacts
from infra.config.mistakes import nearest
from infra.config.pools import Pool
from infra.config.stack import Spec, Stack
from infra.errors import ConfigError
from infra.plan import installed
from infra.plan.charts import charts_of
from infra.plan.cost import price_of
from infra.plan.envoy import TEARDOWN
from infra.plan.fabric.access import access_of
from infra.plan.facts import GatewayPlan, ModelPlan, Plan, PoolPlan, Refusal
from infra.plan.goals import notes as goal_notes
from infra.plan.gpu_operator.spec import planned
from infra.plan.images import with_digest
from infra.plan.models import plan_models
from infra.plan.needs import needs
from infra.plan.observability import observe
from infra.plan.ownership import ownership_of
from infra.plan.refusals import (
    capacity,
    clouds,
    fabric,
    fit,
    formats,
    gpu_operator,
    lifecycle,
    monitoring,
    ownership,
    scheduling,
    shapes,
    wiring,
)


def build(spec: Spec, stack: Stack) -> Plan:
    """Compute the plan; what cannot work becomes a refusal in it, never an exception."""
    target = TARGETS[stack.cluster.target]
    pools = {name: _pool(name, pool, stack, target, spec) for name, pool in stack.pools.items()}
    refusals = list(_unknown_pools(stack, spec.mistaken))
    models, unplanned = plan_models(spec, stack, pools)
    refusals += unplanned
    gateway = _gateway(spec, stack)
    # An image section that is mistaken may well name a lock; names without digest then wait for it.
    lock = "images.lock" if "images" in spec.mistaken else stack.images.lock
    judged = None if "gateway" in spec.mistaken else gateway
    if judged:
        refusals += lifecycle.check_gateway(judged)
        refusals += wiring.check_gateway(judged, lock=lock, has_lock=spec.has_lock)
    refusals += ownership.check(stack)
    refusals += clouds.check(stack)
    for pool in pools.values():
        refusals += capacity.check(pool, stack.cluster.region)
    refusals += _lab_boards(pools.values(), target)
    for model in models:
        refusals += list(shapes.check(model)) or list(fit.check_memory(model))
        refusals += formats.check(model, is_told=f"models.{model.name}.evidence" in spec.mistaken)
        refusals += fit.check(model)
        refusals += lifecycle.check(model, judged)
        refusals += wiring.check(model, lock=lock, has_lock=spec.has_lock)
    plan = Plan(
        stack=spec.name,
        cluster=stack.cluster.name,
        target=target,
        ownership=ownership_of(stack),
        region=stack.cluster.region,
        kubernetes=stack.cluster.kubernetes,
        protected=stack.cluster.protected,
        cloud=stack.cluster.cloud,
        needs=needs(stack, pools.values()),
        fabric=stack.fabric,
        pools=tuple(pools.values()),
        models=models,
        gateway=gateway,
        observability=observe(spec, stack, target, pools.values()),
        ssh_config=stack.cluster.ssh_config or (LAB_SSH_CONFIG if target.name == "lab" else ""),
        scheduling=stack.scheduling,
        refusals=tuple(refusals),
        notes=tuple(_notes(spec, stack, models)),
        gpu_operator=planned(stack.gpu_operator, target, ownership_of(stack), has_gpus=_has_gpus(pools.values())),
        charts=charts_of(stack.charts),
    )
    found = [*fabric.check(plan, spec.mistaken, lock=lock, has_lock=spec.has_lock)]
    found += ownership.check_plan(plan, stack.cluster.kubernetes)
    found += gpu_operator.check(plan)
    found += monitoring.check(plan, lock=lock, has_lock=spec.has_lock)
    found += [] if spec.mistaken & {"keys", "scheduling", "charts"} else scheduling.check(plan)
    noted = (*plan.notes, *installed.notes(plan), *scheduling.notes(plan))
    return replace(plan, refusals=(*plan.refusals, *found), notes=noted)


def accepted(spec: Spec) -> Plan:
    """Plan a spec that is about to be carried out.

    Raises:
        ConfigError: every mistake and every refusal at once.
    """
    plan = build(spec, spec.stack) if spec.stack else None
    refused = [*spec.problems, *(str(refusal) for refusal in plan.refusals)] if plan else list(spec.problems)
    if plan and spec.stack and spec.stack.images.lock and not spec.has_lock:
        refused.append(f"images.lock: {spec.stack.images.lock!r} is not there; build it first (lab: `lab up`)")
    if plan is None or refused:
        raise ConfigError(*refused)
    return plan


def _pool(name: str, pool: Pool, stack: Stack, target: TargetFacts, spec: Spec) -> PoolPlan:
    shape = SHAPES.get(pool.shape)
    board = shape.on_board() if shape else BOARDS[pool.board]
    price = price_of(name, pool, board, stack.prices.get(pool.board))
    machines = spec.machines.get(name, ())
    access = access_of(pool, target.name, shape)
    there = stack.fabric.plugins == "existing"
    parts = {str(part): with_digest(image, spec.digests) for part, image in stack.fabric.images.items()}
    return PoolPlan(name, pool, board, target, ownership_of(stack), shape, price, machines, access, parts, there)


def _gateway(spec: Spec, stack: Stack) -> GatewayPlan:
    gateway = stack.gateway
    teardown = round(TEARDOWN.total_seconds())
    needed = round((gateway.pre_stop + gateway.drain).total_seconds()) + teardown
    return GatewayPlan(
        gateway=gateway,
        image=with_digest(gateway.image, spec.digests),
        longest_answer=round(gateway.longest_answer.total_seconds()),
        teardown=teardown,
        # More than needed, as SIGKILL must lose the race against an exit on time.
        grace=needed + 5,
        keys=stack.keys,
    )


def _has_gpus(pools: Iterable[PoolPlan]) -> bool:
    return any(pool.board.gpu for pool in pools)


def _unknown_pools(stack: Stack, mistaken: frozenset[str]) -> Iterator[Refusal]:
    for name, model in stack.models.items():
        if model.pool not in stack.pools and not mistaken & {"pools", f"pools.{model.pool}"}:
            fix = nearest(model.pool, list(stack.pools))
            yield Refusal("RW-301", f"models.{name}.pool", f"{model.pool!r} is not a pool of this stack", fix)


def _lab_boards(pools: Iterable[PoolPlan], target: TargetFacts) -> Iterator[Refusal]:
    real = [plan for plan in pools if not plan.simulated]
    for plan in real:
        if (plan.board.name == "lab-host") != (target.name == "lab"):
            fix = "set cluster.target to lab" if plan.board.name == "lab-host" else "choose the board of your hosts"
            found = f"{plan.board.name!r} on target {target.name!r}"
            yield Refusal("RW-303", f"pools.{plan.name}.board", found, fix)
        elif target.name == "lab" and plan.pool.hosts > len(LAB_HOSTS):
            found, most = f"{plan.pool.hosts}, the lab has {len(LAB_HOSTS)} hosts", f"set it to {len(LAB_HOSTS)} or 1"
            yield Refusal("RW-303", f"pools.{plan.name}.hosts", found, most)


def _notes(spec: Spec, stack: Stack, models: Iterable[ModelPlan]) -> Iterator[str]:
    if stack.images.lock and not spec.has_lock:
        yield f"image lock {stack.images.lock} is not written yet; digests are filled in once it is"
    for plan in models:
        if plan.rollover.min_available is None:
            yield f"models.{plan.name}: 1 replica has no disruption budget; draining its host interrupts it"
        yield from goal_notes(plan)
        yield from wiring.notes(plan)
        yield from (f"models.{plan.name}: {note}" for note in plan.memory.notes)
        if plan.rollover.max_surge == 0:
            yield f"models.{plan.name}: no room for one replica more, so a rollout takes one away first"
    if stack.observability is None:
        yield "observability: left out, so nothing watches this stack and nobody is told when it fails"
