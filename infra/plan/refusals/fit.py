"""RW-101 and 205: a model that its GPUs, its hosts or its pod cannot hold."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from infra.config.models import MOST_REPLICAS
from infra.plan.facts import ModelPlan, Refusal
from infra.plan.fitting import enough, usual_length
from infra.plan.placement import POD_CPU_SHARE
from infra.units import GIB, gib


def check(plan: ModelPlan) -> Iterator[Refusal]:
    """Yield what its hosts or its pod cannot hold."""
    yield from _place(plan)
    yield from _pod(plan)
    if plan.max_seqs > plan.batched_tokens:
        # vllm 0.32.0 config/scheduler.py stops at the start.
        found = f"{plan.max_seqs} requests in a batch of {plan.batched_tokens} tokens, the engine wants one for each"
        yield plan.refuse(
            "RW-101", "max_num_seqs", found, f"set it to {plan.batched_tokens} or lower, or raise the tokens"
        )
    if plan.pool.board.gpu and plan.model.kv_cache_gib:
        found = f"{plan.model.kv_cache_gib:g} GiB, GPUs of pool {plan.pool.name!r} divide their own memory"
        yield plan.refuse("RW-101", "kv_cache_gib", found, "leave it out")


def check_memory(plan: ModelPlan) -> Iterator[Refusal]:
    """Yield the first thing that the memory of its ranks cannot hold."""
    model, memory, shape = plan.model, plan.memory, plan.shape
    longest = memory.longest(shape.max_context)
    if model.max_model_len > shape.max_context:
        found = f"{model.max_model_len} tokens, {plan.model.architecture} was trained for {shape.max_context}"
        yield plan.refuse("RW-101", "max_model_len", found, f"set it to {shape.max_context} or lower")
    elif plan.pool.board.gpu is None and model.kv_cache_gib is None:
        found = f"not set, and pool {plan.pool.name!r} has no GPU memory to divide"
        yield plan.refuse("RW-101", "kv_cache_gib", found, "set the GiB of host memory that the KV cache may take")
    elif memory.kv_pool <= 0:
        found = (
            f"{gib(memory.weights)} of weights and {gib(memory.activation + memory.runtime + memory.graphs)} at work "
            f"on each rank, {gib(memory.usable)} usable"
        )
        yield plan.refuse("RW-101", "tensor_parallel", found, _more_ranks(plan))
    elif longest < model.max_model_len:
        found = f"one request of {model.max_model_len} tokens, the KV cache holds {longest} of one"
        fix = f"set it to {longest} or lower, or {_more_ranks(plan)}" if longest else _more_ranks(plan)
        yield plan.refuse("RW-101", "max_model_len", found, fix)
    else:
        yield from _at_once(plan)


def _at_once(plan: ModelPlan) -> Iterator[Refusal]:
    model, ranks = plan.model, plan.layout.data
    held = plan.memory.pool.requests(usual_length(plan)) * ranks if plan.memory.pool else 0
    most = plan.max_seqs * ranks
    if model.concurrency > most:
        found = f"{model.concurrency} requests at once, the engine runs {most} in one batch"
        yield plan.refuse(
            "RW-101", "concurrency", found, f"set it to {most} or lower, and raise models.{plan.name}.replicas"
        )
    elif held < model.concurrency:
        length = usual_length(plan)
        found = f"{model.concurrency} requests of {length} tokens, the KV cache holds {held} of them"
        fix = f"set it to {held} or lower, or {_more_ranks(plan, f'raise models.{plan.name}.replicas')}"
        yield plan.refuse("RW-101", "concurrency", found, fix)
    if model.goal and plan.memory.pool:
        yield from _goal(plan, plan.memory.pool.requests(model.goal.length) * ranks, model.goal.concurrency)


def _goal(plan: ModelPlan, held: int, wanted: int) -> Iterator[Refusal]:
    """Yield a goal beyond what all caches hold together; slower than wished is no refusal, as it is not certain."""
    if held * plan.model.replicas < wanted:
        found = f"{wanted} requests at once, {plan.model.replicas} replicas hold {held} each"
        more = -(-wanted // held) if held else 0
        fix = f"set models.{plan.name}.replicas to {more}{_hosts_for(plan, more)}" if held else _more_ranks(plan)
        if more > MOST_REPLICAS:
            fix = f"set it to {held * MOST_REPLICAS} or lower, which {MOST_REPLICAS} replicas hold"
        yield plan.refuse("RW-101", "goal.concurrency", found, fix)


def _hosts_for(plan: ModelPlan, replicas: int) -> str:
    """Name the hosts that so many replicas need, where the pool has fewer."""
    pool, each = plan.pool.pool, plan.placement.replicas_per_host
    need = ceil(replicas / each) + pool.spare_hosts if each else 0
    return f" and pools.{plan.pool.name}.hosts to {need} or more" if need > pool.hosts else ""


def _place(plan: ModelPlan) -> Iterator[Refusal]:
    share = round(plan.pool.board.cpus * POD_CPU_SHARE, 1)
    if plan.model.cpus and plan.model.cpus > share:
        found = f"{plan.model.cpus:g} CPUs per pod, a host of pool {plan.pool.name!r} has {share:g} for models"
        yield plan.refuse("RW-101", "cpus", found, f"set it to {share:g} or lower, or leave it out")
    if plan.placement.unplaced and plan.placement.replicas_per_host:
        fits = plan.model.replicas - plan.placement.unplaced
        usable = plan.pool.pool.hosts - plan.pool.pool.spare_hosts
        found = f"{plan.model.replicas} replicas, the {usable} usable hosts of pool {plan.pool.name!r} hold {fits}"
        fix = f"set it to {fits}" if fits else "remove this model"
        yield plan.refuse("RW-101", "replicas", found, f"{fix}, or raise pools.{plan.pool.name}.hosts")


def _pod(plan: ModelPlan) -> Iterator[Refusal]:
    need = plan.pod_memory.staged + plan.pod_memory.shm + plan.pod_memory.runtime
    host = plan.pool.board.memory_gib * GIB
    if plan.pod_memory.limit < need:
        found = (
            f"{gib(plan.pod_memory.limit)}, weights staged in host memory take {gib(plan.pod_memory.staged)}, "
            f"shared memory {gib(plan.pod_memory.shm)} and the engine {gib(plan.pod_memory.runtime)}"
        )
        yield plan.refuse("RW-205", "memory_gib", found, f"set it to {ceil(need / GIB)} or more, or leave it out")
    elif plan.pod_memory.limit > host:
        found = f"{gib(plan.pod_memory.limit)} per pod, a host of pool {plan.pool.name!r} has {gib(host)}"
        yield plan.refuse("RW-205", "memory_gib", found, "choose a smaller model or a pool with more memory")


def _more_ranks(plan: ModelPlan, otherwise: str = "use a pool whose GPUs have more memory") -> str:
    """Name the change that makes all of it fit, so that one edit is enough."""
    if plan.pool.board.gpu is None:
        return f"raise models.{plan.name}.kv_cache_gib"
    ranks = enough(plan)
    return f"raise models.{plan.name}.tensor_parallel to {ranks}" if ranks else otherwise
