"""What an engine logged beside what the plan says, term by term, and which term is to blame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from infra.catalog.checkpoints import CHECKPOINTS
from infra.errors import Unknown
from infra.fit.log import StartLog
from infra.plan.layout import problems
from infra.plan.memory import Memory
from infra.plan.memory.graphs import rule
from infra.plan.single import Single
from infra.plan.startup import STARTUP_MARGIN, Startup
from infra.units import GIB, gib

Unit = Literal["bytes", "tokens", "requests", "seconds"]

WEIGHTS_SHARE = 0.01
"""Share of the weights by which they may differ. Source: the bar that the planner is held to."""

CACHE_SHARE = 0.05
"""Share of the cache by which it may differ. Source: the bar that the planner is held to, at its worst row."""

TERM_SHARE = 0.02
"""Share of the cache by which one term may move it. Source: the planner's bar in the middle of all rows."""

ROUNDING = 0.01 * GIB
"""Last digit with which engines log memory; SGLang logs keys and values apart, each with half of it off (bytes)."""

LEAST = 0.1 * GIB
"""No term counts as off for less (bytes); two starts of one engine differ by as much."""


@dataclass(frozen=True, slots=True)
class Term:
    """One figure, logged and planned."""

    name: str
    unit: Unit
    logged: float
    planned: float
    allowed: float
    """Difference up to which they agree, in the same unit."""
    is_cause: bool = False
    """Whether it is one of those from which the cache follows."""
    is_bound: bool = False
    """Whether only more of it is wrong, as with time."""

    @property
    def difference(self) -> float:
        """Logged less planned."""
        return self.logged - self.planned

    @property
    def is_off(self) -> bool:
        """Whether they differ by more than is allowed."""
        return (self.difference if self.is_bound else abs(self.difference)) > self.allowed


@dataclass(frozen=True, slots=True)
class Fit:
    """A log held against a plan."""

    single: Single
    """What was planned, with the arguments that the log shows."""
    memory: Memory
    otherwise: tuple[str, ...]
    """In what the engine was started otherwise than planned."""
    terms: tuple[Term, ...]
    blame: Term | None
    """The term that moves the cache most of those that are off; None when none is."""


def compare(log: StartLog, planned: Single, startup: Startup | None = None) -> Fit:
    """Hold a log against a plan, as if the plan had been made with the arguments that the log shows.

    Raises:
        Unknown: the log cannot be of this model on this GPU.

    Args:
        startup: how long the planned start takes; None where nothing says how fast weights are read.
    """
    single = as_started(planned, log)
    _check(single, log)
    memory = single.memory
    terms = (*_causes(log, memory, single), *_effects(log, memory, single), *_times(log, startup))
    off = [term for term in terms if term.is_off]
    causes = [term for term in off if term.is_cause]
    # Some logs split nothing; then the first of the effects is all that can be named.
    blame = max(causes, key=lambda term: abs(term.difference) / term.allowed) if causes else next(iter(off), None)
    return Fit(single, memory, tuple(_otherwise(log, planned)), terms, blame)


def as_started(planned: Single, log: StartLog) -> Single:
    """Put the arguments of a log in place of the planned ones."""
    said = log.settings
    layout = replace(
        planned.layout,
        tensor=said.tensor or planned.layout.tensor,
        pipeline=said.pipeline or planned.layout.pipeline,
        data=said.data or planned.layout.data,
        expert_parallel=planned.layout.expert_parallel if said.expert_parallel is None else said.expert_parallel,
    )
    asked = planned.options
    options = replace(
        asked,
        utilisation=log.figure("utilisation") or said.utilisation or asked.utilisation,
        max_len=_whole(log.figure("length") or log.figure("asked")) or said.max_len or asked.max_len,
        max_seqs=said.max_seqs or asked.max_seqs,
        batched_tokens=said.batched_tokens or asked.batched_tokens,
        kv_dtype=said.kv_dtype or asked.kv_dtype,
        speculative_tokens=said.speculative_tokens or asked.speculative_tokens,
        eager=asked.eager if said.eager is None else said.eager,
        prefix_caching=asked.prefix_caching if said.prefix_caching is None else said.prefix_caching,
    )
    return replace(planned, layout=layout, options=options, host_pool=_whole(log.figure("pool")) or planned.host_pool)


def _check(single: Single, log: StartLog) -> None:
    """Stop where a comparison would say nothing."""
    named = CHECKPOINTS.get(log.settings.model or "")
    if named and named.layers != single.architecture.layers:
        raise Unknown(
            f"the log — is of {named.name!r}, the plan of {single.architecture.name!r} — name the model it is of"
        )
    if wrong := problems(single.architecture, single.layout, single.engine, single.options.quantisation or ""):
        raise Unknown(
            f"the log — tells of ranks that {single.name!r} cannot have ({wrong[0]}) — name the model it is of"
        )
    most = single.gpu.memory_torch_gib * GIB if single.gpu else inf
    for name in ("weights", "activation", "pool"):
        if (found := log.figure(name) or 0) > most:
            raise Unknown(
                f"the log — has {gib(round(found))} of {name} on a rank, a {single.gpu and single.gpu.name} has "
                f"{gib(round(most))} — name the GPU it is of"
            )


def _whole(value: float | None) -> int:
    return round(value) if value else 0


def _otherwise(log: StartLog, planned: Single) -> Iterator[str]:
    said, layout, options = log.settings, planned.layout, planned.options
    pairs = (
        ("model", log.settings.model if _is_repository(log.settings.model) else None, planned.architecture.name),
        ("version", said.version, planned.version),
        ("tensor parallel", said.tensor, layout.tensor),
        ("pipeline parallel", said.pipeline, layout.pipeline),
        ("data parallel", said.data, layout.data),
        ("expert parallel", said.expert_parallel, layout.expert_parallel),
        (
            "share of memory",
            log.figure("utilisation") or said.utilisation,
            options.utilisation or planned.engine.utilisation,
        ),
        (
            "longest request",
            _whole(log.figure("length")) or said.max_len,
            options.max_len or planned.architecture.max_context,
        ),
        ("requests in a batch", said.max_seqs, options.max_seqs),
        ("tokens in a batch", said.batched_tokens, options.batched_tokens),
        ("cache format", said.kv_dtype, options.kv_dtype),
    )
    for name, found, wanted in pairs:
        if found is not None and wanted is not None and found != wanted:
            yield f"{name}: {found} in the log, {wanted} in the plan"


def _is_repository(name: str | None) -> bool:
    """Whether a model was named by its repository, and not by a folder that may be called anything."""
    return name is not None and not name.startswith(("/", ".", "~")) and name.count("/") == 1


def _causes(log: StartLog, memory: Memory, single: Single) -> Iterator[Term]:
    if single.gpu is None:
        return
    allowed = max(LEAST, TERM_SHARE * abs(memory.kv_pool))
    weights = log.figure("weights")
    usable, pool = log.figure("usable"), log.figure("pool")
    if usable is not None and single.engine.budget == "requested":
        yield Term("memory the engine may take", "bytes", usable, memory.usable, allowed, is_cause=True)
    if weights is not None:
        bar = WEIGHTS_SHARE * memory.weights + ROUNDING
        yield Term("weights", "bytes", weights, memory.weights, bar, is_cause=True)
    charged = rule(single.architecture, single.layout, single.engine, eager=single.options.eager).charged
    counted = memory.graphs if charged else 0
    split = False
    for name, figure, planned in (
        ("activation", "activation", memory.activation),
        ("outside PyTorch", "non_torch", memory.runtime),
    ):
        if (logged := log.figure(figure)) is not None:
            split = True
            yield Term(name, "bytes", logged, planned, allowed, is_cause=True)
    graphs = log.figure("graphs_estimated") if counted else log.figure("graphs")
    if graphs is not None and not single.options.eager:
        yield Term("CUDA graphs", "bytes", graphs, memory.graphs, allowed, is_cause=bool(counted))
    if not split and weights is not None and pool is not None and single.engine.budget == "requested":
        rest = (usable if usable is not None else memory.usable) - weights - pool
        planned = memory.activation + memory.runtime + counted
        yield Term("activation, outside PyTorch and graphs", "bytes", rest, planned, allowed, is_cause=True)


def _effects(log: StartLog, memory: Memory, single: Single) -> Iterator[Term]:
    pool, tokens = log.figure("pool"), log.figure("tokens")
    concurrency = log.figure("concurrency")
    if pool is not None and single.gpu is not None:
        bar = max(CACHE_SHARE * abs(memory.kv_pool), LEAST)
        yield Term("cache", "bytes", pool, memory.kv_pool, bar)
    if tokens is not None and memory.kv_pool > 0:
        yield Term("tokens", "tokens", tokens, memory.kv_tokens, CACHE_SHARE * memory.kv_tokens)
    if tokens is not None and pool is not None and pool > 0:
        # The blocks of the very cache that was logged: differences are the rule's own, whatever the terms above.
        same = single.pool(round(pool))
        spread = single.pool(round(pool + ROUNDING)).tokens - same.tokens
        bar = max(spread, same.block_tokens) if single.gpu else same.block_tokens
        yield Term("tokens of the logged cache", "tokens", tokens, same.tokens, bar, is_cause=True)
    if concurrency is not None and memory.pool:
        planned = memory.concurrency(single.options.max_len or single.architecture.max_context)
        yield Term("requests of the longest kind", "requests", concurrency, planned, CACHE_SHARE * planned)
    yield from _limits(log, single)


def _limits(log: StartLog, single: Single) -> Iterator[Term]:
    """What a refusal says that one longest request needs, and how long one may be."""
    needed, pool, longest = log.figure("needed"), log.figure("pool"), log.figure("longest")
    asked = single.options.max_len or single.architecture.max_context
    if needed is not None:
        blocks = single.pool(round(needed), asked)
        planned = blocks.blocks_per_request(asked) * blocks.bytes_per_block
        yield Term("cache of one longest request", "bytes", needed, planned, max(ROUNDING, blocks.bytes_per_block))
    if longest is not None and pool is not None and pool > 0:
        blocks = single.pool(round(pool), asked)
        planned = blocks.longest(asked)
        spread = single.pool(round(pool + ROUNDING), asked).longest(asked) - planned
        yield Term("longest request", "tokens", longest, planned, max(spread, blocks.block_tokens))


def _times(log: StartLog, startup: Startup | None) -> Iterator[Term]:
    if startup is None:
        return
    for name, figure, planned in (
        ("load of the weights", "load", startup.read + startup.copy),
        ("profile, compile and graphs", "engine", startup.compile + startup.capture),
    ):
        if (logged := log.figure(figure)) is not None and planned:
            yield Term(name, "seconds", logged, planned, (STARTUP_MARGIN - 1) * planned, is_bound=True)
