"""RW-101, 102 and 205: a model that its GPUs, its hosts or its pod cannot hold."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from infra.plan.facts import ModelPlan, Refusal
from infra.plan.placement import POD_CPU_SHARE
from infra.plan.ranks import enough, legal
from infra.plan.sizing import MAX_SEQS
from infra.units import GIB, gib


def check(model: ModelPlan) -> Iterator[Refusal]:
    """Yield what does not fit."""
    ranks = list(_ranks(model))
    yield from ranks or _memory(model)
    yield from _place(model)
    yield from _pod(model)


def _ranks(plan: ModelPlan) -> Iterator[Refusal]:
    board, ranks = plan.pool.board, plan.model.tensor_parallel
    if board.gpu is None and ranks > 1:
        yield _refuse(plan, "tensor_parallel", f"{ranks} ranks on board {board.name!r} without GPUs", "set it to 1")
    elif board.gpu is not None and ranks > board.gpus:
        found = f"{ranks} GPUs per replica, a host of pool {plan.pool.name!r} has {board.gpus} in one NVLink domain"
        yield _refuse(plan, "tensor_parallel", found, f"set it to {legal(plan.shape, board.gpus)[-1]} or lower")
    elif board.gpu is not None and ranks not in (allowed := legal(plan.shape, board.gpus)):
        found = f"{ranks} ranks for {plan.shape.heads} attention heads and {plan.shape.kv_heads} key/value heads"
        fix = f"set it to {enough(plan) or allowed[-1]}; allowed are {', '.join(map(str, allowed))}"
        yield _refuse(plan, "tensor_parallel", found, fix, "RW-102")


def _memory(plan: ModelPlan) -> Iterator[Refusal]:
    model, memory, shape = plan.model, plan.memory, plan.shape
    longest = memory.longest(shape.max_context)
    if model.max_model_len > shape.max_context:
        found = f"{model.max_model_len} tokens, {plan.model.architecture} was trained for {shape.max_context}"
        yield _refuse(plan, "max_model_len", found, f"set it to {shape.max_context} or lower")
    elif plan.pool.board.gpu is None and model.kv_cache_gib is None:
        found = f"not set, and pool {plan.pool.name!r} has no GPU memory to divide"
        yield _refuse(plan, "kv_cache_gib", found, "set the GiB of host memory that the KV cache may take")
    elif memory.kv_pool <= 0:
        found = (
            f"{gib(memory.weights)} of weights and {gib(memory.activation + memory.runtime + memory.graphs)} at work "
            f"on each rank, {gib(memory.usable)} usable"
        )
        yield _refuse(plan, "tensor_parallel", found, _more_ranks(plan))
    elif longest < model.max_model_len:
        found = f"one request of {model.max_model_len} tokens, the KV cache holds {memory.kv_tokens}"
        fix = f"set it to {longest} or lower, or {_more_ranks(plan)}" if longest else _more_ranks(plan)
        yield _refuse(plan, "max_model_len", found, fix)
    elif model.concurrency > MAX_SEQS:
        found = f"{model.concurrency} requests at once, the engine runs {MAX_SEQS} in one batch"
        fix = f"set it to {MAX_SEQS} or lower, and raise models.{plan.name}.replicas"
        yield _refuse(plan, "concurrency", found, fix)
    elif memory.concurrency(_typical(plan)) < model.concurrency:
        found = f"{model.concurrency} requests of {_typical(plan)} tokens, the KV cache holds {memory.kv_tokens}"
        most = memory.concurrency(_typical(plan))
        fix = f"set it to {most} or lower, or {_more_ranks(plan, f'raise models.{plan.name}.replicas')}"
        yield _refuse(plan, "concurrency", found, fix)


def _place(plan: ModelPlan) -> Iterator[Refusal]:
    share = round(plan.pool.board.cpus * POD_CPU_SHARE, 1)
    if plan.model.cpus and plan.model.cpus > share:
        found = f"{plan.model.cpus:g} CPUs per pod, a host of pool {plan.pool.name!r} has {share:g} for models"
        yield _refuse(plan, "cpus", found, f"set it to {share:g} or lower, or leave it out")
    if plan.placement.unplaced and plan.placement.replicas_per_host:
        fits = plan.model.replicas - plan.placement.unplaced
        usable = plan.pool.pool.hosts - plan.pool.pool.spare_hosts
        found = f"{plan.model.replicas} replicas, the {usable} usable hosts of pool {plan.pool.name!r} hold {fits}"
        fix = f"set it to {fits}" if fits else "remove this model"
        yield _refuse(plan, "replicas", found, f"{fix}, or raise pools.{plan.pool.name}.hosts")


def _pod(plan: ModelPlan) -> Iterator[Refusal]:
    need = plan.pod_memory.staged + plan.pod_memory.shm + plan.pod_memory.runtime
    host = plan.pool.board.memory_gib * GIB
    if plan.pod_memory.limit < need:
        found = (
            f"{gib(plan.pod_memory.limit)}, weights staged in host memory take {gib(plan.pod_memory.staged)}, "
            f"shared memory {gib(plan.pod_memory.shm)} and the engine {gib(plan.pod_memory.runtime)}"
        )
        yield _refuse(plan, "memory_gib", found, f"set it to {ceil(need / GIB)} or more, or leave it out", "RW-205")
    elif plan.pod_memory.limit > host:
        found = f"{gib(plan.pod_memory.limit)} per pod, a host of pool {plan.pool.name!r} has {gib(host)}"
        yield _refuse(plan, "memory_gib", found, "choose a smaller model or a pool with more memory", "RW-205")


def _typical(plan: ModelPlan) -> int:
    return plan.model.typical_len or plan.model.max_model_len


def _more_ranks(plan: ModelPlan, otherwise: str = "use a pool whose GPUs have more memory") -> str:
    """Name the change that makes all of it fit, so that one edit is enough."""
    if plan.pool.board.gpu is None:
        return f"raise models.{plan.name}.kv_cache_gib"
    ranks = enough(plan)
    return f"raise models.{plan.name}.tensor_parallel to {ranks}" if ranks else otherwise


def _refuse(plan: ModelPlan, key: str, found: str, fix: str, rule: str = "RW-101") -> Refusal:
    return Refusal(rule, f"models.{plan.name}.{key}", found, fix)
