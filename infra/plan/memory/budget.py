"""Divide one rank's memory as its engine does, and turn what is left into blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil

from infra.catalog.architecture import Architecture
from infra.catalog.engines import LAST_READ, Engine
from infra.catalog.gpus import Gpu
from infra.catalog.quantisations import Quantisation, quantisation
from infra.plan.layout import Layout
from infra.plan.memory.activation import stage_activation
from infra.plan.memory.blocks import blocks
from infra.plan.memory.graphs import GraphRule, rule
from infra.plan.memory.margin import margin, unseen
from infra.plan.memory.options import Options, Settings, settle
from infra.plan.memory.result import Memory
from infra.plan.memory.weights import stage_weights
from infra.units import GIB, MIB

HOST_RUNTIME_BYTES = 3 * GIB
"""Resident set of vLLM on a CPU beside weights and cache: interpreter, torch, two processes. Source: 2.9 GB seen
with a tiny model and 1 GiB of cache in the lab."""


NCCL_BYTES = 392 * MIB
"""NCCL's own buffers between up to eight GPUs (bytes). Source: fixed reserves of aiconfigurator 0.12.0."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """What one rank of one pipeline stage needs (bytes)."""

    number: int
    weights: int
    activation: int
    runtime: int
    graphs: int
    layers: int


def size(architecture: Architecture, layout: Layout, gpu: Gpu, engine: Engine, options: Options) -> Memory:
    """Divide the memory of the tightest rank by the rules of one engine and its version.

    Args:
        architecture: the model.
        layout: how it is dealt; ``infra.plan.layout.problems`` says whether it can be.
        gpu: the GPU of every rank.
        engine: rules of the version in use.
        options: what the user set; the rest is the engine's default.
    """
    form = quantisation(options.quantisation or architecture.quantisation or _plain(architecture))
    settings = settle(options, architecture, layout, gpu, engine)
    total = round(gpu.memory_torch_gib * GIB)
    graphs = rule(architecture, layout, engine, eager=options.eager)
    stages = _stages(architecture, layout, gpu, engine, form, options, settings, graphs)
    pools = [_left(stage, total, engine, settings.share, charged=graphs.charged) for stage in stages]
    tightest = min(stages, key=lambda stage: pools[stage.number] / max(stage.layers, 1))
    left = pools[tightest.number]
    cache = blocks(architecture, layout, engine, options, settings, pools) if min(pools) > 0 else None
    usable, headroom = _bounds(tightest, total, left, engine, settings.share, charged=graphs.charged)
    least, why = margin(architecture, layout, settings)
    return Memory(
        total, usable, tightest.weights, tightest.activation, tightest.runtime, tightest.graphs, left,
        cache.tokens if cache else 0, cache.block_tokens if cache else engine.block_tokens, settings.length,
        cache, _rank(tightest, layout), least, headroom,
        (*why, *_notes(form, gpu, unseen(architecture, engine)), *_unlike(engine, options), *graphs.notes),
    )  # fmt: skip


def size_on_host(
    architecture: Architecture, layout: Layout, engine: Engine, options: Options, pool_bytes: int
) -> Memory:
    """Add up what an engine takes on a CPU, where the spec says how much the pool may have."""
    form = quantisation(options.quantisation or architecture.quantisation or _plain(architecture))
    settings = settle(options, architecture, layout, None, engine)
    weights = max(stage_weights(architecture, layout, form, drafter=options.speculative_tokens > 0))
    total = weights + pool_bytes + HOST_RUNTIME_BYTES
    cache = blocks(architecture, layout, engine, options, settings, pool_bytes) if pool_bytes > 0 else None
    return Memory(
        total, total, weights, 0, HOST_RUNTIME_BYTES, 0, pool_bytes, cache.tokens if cache else 0,
        cache.block_tokens if cache else engine.block_tokens, settings.length, cache, "the only rank", 0, 0, (),
    )  # fmt: skip


def _held(form: Quantisation, gpu: Gpu, engine: Engine) -> Quantisation:
    """Format in which the weights lie in memory."""
    held = form.in_memory(gpu.capability)
    # A kernel that was asked for by name is there.
    return quantisation(held.fallback) if held is not form and held.name in engine.lacks else held


def _plain(architecture: Architecture) -> str:
    return {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}[architecture.dtype]


def _stages(
    architecture: Architecture,
    layout: Layout,
    gpu: Gpu,
    engine: Engine,
    form: Quantisation,
    options: Options,
    settings: Settings,
    graphs: GraphRule,
) -> list[_Stage]:
    drafts = options.speculative_tokens > 0
    counts = layout.stages(len(architecture.layers))
    held = partial(_held, gpu=gpu, engine=engine)
    weights = stage_weights(architecture, layout, form, drafter=drafts, held=held)
    activation = stage_activation(architecture, layout, engine, tokens=settings.tokens, seqs=settings.seqs)
    runtime = _runtime(layout, gpu, engine)
    return [
        _Stage(stage, weight, peak, runtime, graphs.bytes(count, gpu, settings.seqs), count)
        for stage, (weight, peak, count) in enumerate(zip(weights, activation, counts, strict=True))
    ]  # fmt: skip


def _runtime(layout: Layout, gpu: Gpu, engine: Engine) -> int:
    """Memory outside PyTorch; what ranks share over NVLink has buffers that ranks without it do not get."""
    alone, together = engine.non_torch_bytes
    if layout.tensor * layout.data == 1:
        return alone
    return together if gpu.nvlink_gb_s else min(together, alone + NCCL_BYTES)


def _left(stage: _Stage, total: int, engine: Engine, share: float, *, charged: bool) -> int:
    """What the pool gets; each engine's share is a share of something else."""
    needed = stage.weights + stage.runtime
    before = stage.graphs if charged else 0
    if engine.budget == "static":
        return ceil(total * share) - needed
    if engine.budget == "left":
        free = total - needed - stage.activation - before
        return int(free * share) if free > 0 else free
    return ceil(total * share) - needed - stage.activation - before


def _bounds(stage: _Stage, total: int, left: int, engine: Engine, share: float, *, charged: bool) -> tuple[int, int]:
    """What the engine takes at most of all that it counts, and what stays free beside everything."""
    after = 0 if charged else stage.graphs
    if engine.budget == "static":
        usable = ceil(total * share)
        return usable, total - usable - stage.activation - stage.graphs
    if engine.budget == "left":
        usable = stage.weights + stage.runtime + stage.activation + left + stage.graphs - after
        return usable, total - usable - after
    usable = ceil(total * share)
    return usable, total - usable - after


def _rank(stage: _Stage, layout: Layout) -> str:
    if layout.gpus == 1:
        return "the only rank"
    return f"every rank of stage {stage.number}" if layout.pipeline > 1 else "every rank"


def _unlike(engine: Engine, options: Options) -> Iterator[str]:
    """Yield in what an engine may do otherwise than its rules here say."""
    if engine.adapts_batch and options.batched_tokens is None:
        tokens = engine.batches[-1].tokens
        yield (
            f"{engine.name} chooses the tokens of a batch by the GPU's arithmetic, and more of them leave less for the "
            f"cache; planned with {tokens:,}, so give it --max-batch-prefill-tokens={tokens}"
        )
    newest = LAST_READ[engine.name]
    if options.version and options.version > newest:
        last, asked = (".".join(str(part) for part in version) for version in (newest, options.version))
        yield (
            f"{engine.name} {asked} is planned by the rules of {last}, the last one read; {asked} was not judged, "
            "so check its start-up log with infra fit"
        )


def _notes(form: Quantisation, gpu: Gpu, doubt: str) -> tuple[str, ...]:
    doubts = (doubt,) if doubt else ()
    if form.is_native(gpu.capability):
        return doubts
    return (
        *doubts,
        f"{gpu.name} keeps {form.name} weights but does not compute in {form.name}: memory is saved, time is not, "
        "and loading repacks each matrix beside the old one",
    )
