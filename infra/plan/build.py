"""From spec to plan: one pass, nothing read and nothing written."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import ceil
from pathlib import PurePosixPath

from infra.catalog.boards import BOARDS
from infra.catalog.engines import ENGINES, Engine, engine_for
from infra.catalog.models import ARCHITECTURES
from infra.catalog.targets import LAB_HOSTS, TARGETS, TargetFacts
from infra.config.models import Model
from infra.config.stack import Spec, Stack
from infra.errors import ConfigError
from infra.plan.envoy import TEARDOWN
from infra.plan.facts import GatewayPlan, ModelPlan, Plan, PodMemory, PoolPlan, Refusal
from infra.plan.images import with_digest
from infra.plan.lifecycle import rollover, shutdown, startup
from infra.plan.observability import observe
from infra.plan.placement import POD_CPU_SHARE, Placement, place
from infra.plan.refusals import fit, lifecycle, monitoring, wiring
from infra.plan.sizing import BF16_BYTES, CPU_RUNTIME_BYTES, architecture_of, size
from infra.units import GIB


def build(spec: Spec, stack: Stack) -> Plan:
    """Compute the plan; what cannot work becomes a refusal in it, never an exception."""
    target = TARGETS[stack.cluster.target]
    pools = {name: PoolPlan(name, pool, BOARDS[pool.board], target) for name, pool in stack.pools.items()}
    refusals = list(_unknown_names(stack, spec.mistaken))
    known = {name: model for name, model in stack.models.items() if _is_known(model, stack)}
    models = tuple(_models(spec, known, pools))
    gateway = _gateway(spec, stack)
    # An image section that is mistaken may well name a lock; names without digest then wait for it.
    lock = "images.lock" if "images" in spec.mistaken else stack.images.lock
    judged = None if "gateway" in spec.mistaken else gateway
    if judged:
        refusals += lifecycle.check_gateway(judged)
        refusals += wiring.check_gateway(judged, lock=lock, has_lock=spec.has_lock)
    refusals += _lab_boards(pools.values(), target)
    for model in models:
        refusals += fit.check(model)
        refusals += lifecycle.check(model, judged)
        refusals += wiring.check(model, lock=lock, has_lock=spec.has_lock)
    plan = Plan(
        stack=spec.name,
        cluster=stack.cluster.name,
        target=target,
        pools=tuple(pools.values()),
        models=models,
        gateway=gateway,
        observability=observe(spec, stack, target, pools.values()),
        refusals=tuple(refusals),
        notes=tuple(_notes(spec, stack, models)),
    )
    return replace(plan, refusals=(*plan.refusals, *monitoring.check(plan, lock=lock, has_lock=spec.has_lock)))


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


def _models(spec: Spec, models: dict[str, Model], pools: dict[str, PoolPlan]) -> Iterator[ModelPlan]:
    places: dict[str, Placement] = {}
    for pool in pools.values():
        mine = {name: model for name, model in models.items() if model.pool == pool.name}
        wanted = {name: (m.replicas, _per_host(m, pool)) for name, m in mine.items()}
        places |= place(pool.pool, wanted, shared=pool.board.gpu is None)
    longest = round(spec.stack.gateway.longest_answer.total_seconds()) if spec.stack else 0
    for name, model in models.items():
        pool, engine = pools[model.pool], _engine(model)
        shape = architecture_of(model, ARCHITECTURES.get(model.architecture))
        memory = size(model, shape, pool.board, engine)
        yield ModelPlan(
            name=name,
            model=model,
            shape=shape,
            engine=engine,
            pool=pool,
            image=with_digest(model.image, spec.digests),
            weights_path=_on_host(spec.root, model.weights.host_path),
            engine_path=_on_host(spec.root, model.engine_mount.host_path if model.engine_mount else None),
            memory=memory,
            pod_memory=_pod_memory(model, pool),
            cpus=_cpus(model, pool),
            placement=places[name],
            startup=startup(model, shape, pool.board, engine),
            shutdown=shutdown(model, engine, pool.target, longest),
            rollover=rollover(model, places[name]),
        )


def _on_host(root: str, path: str | None) -> str:
    return str(PurePosixPath(root) / path) if path else ""


def _engine(model: Model) -> Engine:
    found = engine_for(model.engine, _version(model))
    if found is None:
        raise ConfigError(f"engine {model.engine} {model.engine_version} — has no known memory rules; use a newer one")
    return found


def _version(model: Model) -> tuple[int, int]:
    major, minor, _ = (int(part) for part in model.engine_version.split("."))
    return major, minor


def _pod_memory(model: Model, pool: PoolPlan) -> PodMemory:
    """Host memory of a pod: weights pass through it, and /dev/shm counts against the limit.

    Source: serving checklist, pod specs of public charts (shm 8 to 80 GiB with several ranks).
    """
    shape = architecture_of(model, ARCHITECTURES.get(model.architecture))
    staged = shape.parameters * BF16_BYTES
    if pool.board.gpu is None:
        shm = round((model.shm_gib or 0.25) * GIB)
        runtime = CPU_RUNTIME_BYTES + round((model.kv_cache_gib or 0) * GIB)
    else:
        shm = round((model.shm_gib or (16 if model.tensor_parallel > 1 else 2)) * GIB)
        runtime = (4 + 2 * model.tensor_parallel) * GIB
    computed = ceil((staged + shm + runtime) / GIB) * GIB
    return PodMemory(staged, shm, runtime, round(model.memory_gib * GIB) if model.memory_gib else computed)


def _per_host(model: Model, pool: PoolPlan) -> int:
    board = pool.board
    rooms = [board.memory_gib * GIB // max(1, _pod_memory(model, pool).limit)]
    if board.gpu:
        rooms.append(board.gpus // model.tensor_parallel)
    if model.cpus:
        rooms.append(int(board.cpus * POD_CPU_SHARE / model.cpus))
    if model.rdma_devices:
        rooms.append(pool.rdma_devices // model.rdma_devices)
    return min(rooms)


def _cpus(model: Model, pool: PoolPlan) -> float:
    if model.cpus:
        return model.cpus
    share = model.tensor_parallel / pool.board.gpus if pool.board.gpu else 1 / max(1, _per_host(model, pool))
    return max(0.1, int(pool.board.cpus * POD_CPU_SHARE * share * 10) / 10)


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


def _is_known(model: Model, stack: Stack) -> bool:
    has_shape = model.shape is not None or model.architecture in ARCHITECTURES
    return model.pool in stack.pools and has_shape and engine_for(model.engine, _version(model)) is not None


def _unknown_names(stack: Stack, mistaken: frozenset[str]) -> Iterator[Refusal]:
    for name, model in stack.models.items():
        if model.pool not in stack.pools and not mistaken & {"pools", f"pools.{model.pool}"}:
            fix = _nearest(model.pool, stack.pools, "pools")
            yield Refusal("RW-301", f"models.{name}.pool", f"{model.pool!r} is not a pool of this stack", fix)
        if model.shape is None and model.architecture not in ARCHITECTURES:
            fix = f"give its shape, or: {_nearest(model.architecture, ARCHITECTURES, 'the catalog')}"
            yield Refusal("RW-101", f"models.{name}.architecture", f"{model.architecture!r} has no known shape", fix)
        if engine_for(model.engine, _version(model)) is None:
            oldest = ".".join(str(part) for part in ENGINES[model.engine][-1].since)
            found = f"{model.engine_version!r} is older than all versions whose memory rules are known"
            yield Refusal("RW-101", f"models.{name}.engine_version", found, f"use {oldest}.0 or newer")


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


def _nearest(word: str, known: Iterable[str], where: str) -> str:
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{where} has: {', '.join(sorted(names)) or 'none'}"


def _notes(spec: Spec, stack: Stack, models: Iterable[ModelPlan]) -> Iterator[str]:
    if stack.images.lock and not spec.has_lock:
        yield f"image lock {stack.images.lock} is not written yet; digests are filled in once it is"
    for plan in models:
        if plan.rollover.min_available is None:
            yield f"models.{plan.name}: 1 replica has no disruption budget; draining its host interrupts it"
        if plan.rollover.max_surge == 0:
            yield f"models.{plan.name}: no room for one replica more, so a rollout takes one away first"
    if stack.observability is None:
        yield "observability: left out, so nothing watches this stack and nobody is told when it fails"
