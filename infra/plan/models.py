"""The models of a stack: each sized, placed, timed and priced, or refused where that cannot be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from pathlib import PurePosixPath

from infra.catalog.architecture import Architecture
from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.engines import Engine, engine_for
from infra.config.mistakes import closest
from infra.config.models import Model
from infra.config.stack import Spec, Stack
from infra.errors import ConfigError, Unknown
from infra.plan.architectures import architecture_of
from infra.plan.fabric.access import room
from infra.plan.facts import ModelPlan, PodMemory, PoolPlan, Refusal
from infra.plan.first_prompt import first_prompt
from infra.plan.formats import format_of, scores
from infra.plan.goals import priced
from infra.plan.images import with_digest
from infra.plan.layout import Layout, problems
from infra.plan.lifecycle import rollover, shutdown
from infra.plan.limits import Limits
from infra.plan.memory.budget import HOST_RUNTIME_BYTES
from infra.plan.placement import POD_CPU_SHARE, Placement, Want, place
from infra.plan.sized import layout_of, sized, version_of
from infra.plan.standing import Standing, standing
from infra.plan.startup import startup, stored_bytes
from infra.units import GIB

OLDEST = (0, 18)
"""Oldest version that takes the arguments we give. Source: KServe's llmisvc template, --shutdown-timeout since 0.18."""


@dataclass(frozen=True, slots=True)
class _Sized:
    """One model whose memory is known."""

    name: str
    model: Model
    architecture: Architecture
    engine: Engine
    pool: PoolPlan
    limits: Limits
    stored: int

    @property
    def layout(self) -> Layout:
        return layout_of(self.model)


def plan_models(spec: Spec, stack: Stack, pools: Mapping[str, PoolPlan]) -> tuple[tuple[ModelPlan, ...], list[Refusal]]:
    """Plan all models that are on a pool of the stack; a refusal tells of each that cannot be planned."""
    ready: list[_Sized] = []
    refusals: list[Refusal] = []
    for name, model in stack.models.items():
        if model.pool not in pools:
            continue
        found = _sized(spec, name, model, pools[model.pool])
        if isinstance(found, _Sized):
            ready.append(found)
        else:
            refusals += found
    places = _places(ready, pools)
    longest = round(stack.gateway.longest_answer.total_seconds())
    stands = {one.name: standing(one.name, one.model, one.pool.pool, stack.keys, stack.scheduling) for one in ready}
    plans = (_plan(spec, one, places[one.name], stands[one.name], longest) for one in ready)
    return tuple(priced(plan, spec.evidence.get(plan.name, ())) for plan in plans), refusals


def _sized(spec: Spec, name: str, model: Model, pool: PoolPlan) -> _Sized | list[Refusal]:
    """Size one model; what its own file says wrong is told already, so nothing more is said of it here."""
    key, engine = f"models.{name}", engine_for(model.engine, version_of(model))
    refusals = _too_old(key, model)
    try:
        architecture = architecture_of(name, model, spec.architectures)
    except Unknown as error:
        found, _, fix = str(error).rpartition("; ")
        where = "config" if model.config else "architecture"
        return [*refusals, Refusal("RW-101", f"{key}.{where}", found, fix, is_unknown=True)]
    if architecture is None and model.config is None:
        near = closest(model.architecture, list(CHECKPOINTS))
        fix = "give its config or its shape" + (f", or: did you mean {near!r}?" if near else "")
        refusals.append(Refusal("RW-101", f"{key}.architecture", f"{model.architecture!r} has no known shape", fix))
    if architecture is None or engine is None or refusals:
        return refusals
    try:
        limits = sized(model, architecture, pool.board, engine)
    except (ConfigError, Unknown) as error:
        return list(_unsized(key, model, architecture, engine, error))
    return _Sized(name, model, architecture, engine, pool, limits, stored_bytes(architecture))


def _unsized(key: str, model: Model, architecture: Architecture, engine: Engine, error: Exception) -> Iterator[Refusal]:
    """Say why a model has no size; shapes that cannot be dealt often are the cause, and say what can."""
    form = format_of(model, architecture)
    for problem in problems(architecture, layout_of(model), engine, form.weights):
        found, _, fix = problem.rpartition("; ")
        yield Refusal("RW-102", f"{key}.tensor_parallel", found, fix)
        return
    found, _, fix = str(error).rpartition("; ")
    yield Refusal("RW-101", f"{key}.architecture", found, fix, is_unknown=isinstance(error, Unknown))


def _too_old(key: str, model: Model) -> list[Refusal]:
    if engine_for(model.engine, version_of(model)) and version_of(model) >= OLDEST:
        return []
    found = f"{model.engine_version!r} is older than all versions whose command line is known"
    oldest = ".".join(str(part) for part in OLDEST)
    return [Refusal("RW-101", f"{key}.engine_version", found, f"use {oldest}.0 or newer")]


def _places(ready: list[_Sized], pools: Mapping[str, PoolPlan]) -> dict[str, Placement]:
    places: dict[str, Placement] = {}
    for pool in pools.values():
        wanted = {one.name: Want(one.model.replicas, _per_host(one)) for one in ready if one.pool is pool}
        places |= place(pool.pool, wanted, shared=pool.board.gpu is None)
    return places


def _plan(spec: Spec, one: _Sized, placement: Placement, stands: Standing, longest: int) -> ModelPlan:
    model, board, limits = one.model, one.pool.board, one.limits
    form = format_of(model, one.architecture)
    first = first_prompt(model, one.architecture, one.layout, board.gpu, one.engine, form)
    return ModelPlan(
        name=one.name,
        model=model,
        shape=one.architecture,
        layout=one.layout,
        format=form,
        scores=tuple(scores(form, one.architecture.name, spec.evidence.get(one.name, ()))),
        engine=one.engine,
        pool=one.pool,
        image=with_digest(model.image, spec.digests),
        weights_path=_on_host(spec.root, model.weights.host_path),
        engine_path=_on_host(spec.root, model.engine_mount.host_path if model.engine_mount else None),
        stored=one.stored,
        utilisation=limits.utilisation,
        max_seqs=limits.max_seqs,
        batched_tokens=limits.batched_tokens,
        memory=limits.memory,
        pod_memory=_pod_memory(one),
        cpus=_cpus(one),
        placement=placement,
        first_prompt=first,
        startup=startup(
            model, stored=one.stored, rank_bytes=limits.memory.weights, board=board, engine=one.engine,
            seqs=limits.max_seqs, first=first,
        ),
        shutdown=shutdown(model, one.engine, one.pool.target, longest),
        rollover=rollover(model, placement),
        standing=stands,
    )  # fmt: skip


def _on_host(root: str, path: str | None) -> str:
    return str(PurePosixPath(root) / path) if path else ""


def _pod_memory(one: _Sized) -> PodMemory:
    """Host memory of a pod: weights pass through it, and /dev/shm counts against the limit.

    Source: serving checklist, pod specs of public charts (shm 8 to 80 GiB with several ranks).
    """
    model, gpus = one.model, one.layout.gpus
    if one.pool.board.gpu is None:
        shm = round((model.shm_gib or 0.25) * GIB)
        runtime = HOST_RUNTIME_BYTES + round((model.kv_cache_gib or 0) * GIB)
    else:
        shm = round((model.shm_gib or (16 if gpus > 1 else 2)) * GIB)
        runtime = (4 + 2 * gpus) * GIB
    computed = ceil((one.stored + shm + runtime) / GIB) * GIB
    return PodMemory(one.stored, shm, runtime, round(model.memory_gib * GIB) if model.memory_gib else computed)


def _per_host(one: _Sized) -> int:
    board, model = one.pool.board, one.model
    rooms = [board.memory_gib * GIB // max(1, _pod_memory(one).limit)]
    if board.gpu:
        rooms.append(board.gpus // one.layout.gpus)
    if model.cpus:
        rooms.append(int(board.cpus * POD_CPU_SHARE / model.cpus))
    if model.rdma_devices:
        rooms.append(room(one.pool, model.rdma_devices))
    return min(rooms)


def _cpus(one: _Sized) -> float:
    board = one.pool.board
    if one.model.cpus:
        return one.model.cpus
    share = one.layout.gpus / board.gpus if board.gpu else 1 / max(1, _per_host(one))
    return max(0.1, int(board.cpus * POD_CPU_SHARE * share * 10) / 10)
