"""What a user may set about an engine's memory; None stands for the engine's own default."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.catalog.gpus import Gpu
from infra.plan.layout import Layout
from infra.units import GIB, MIB


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of one engine that change where memory goes."""

    utilisation: float | None = None
    """The engine's own share: vLLM of the total, SGLang of the total, TensorRT-LLM of what is free after load."""
    max_len: int | None = None
    """Longest request (tokens); None: the architecture's."""
    max_seqs: int | None = None
    """Requests in one batch (count)."""
    batched_tokens: int | None = None
    """Tokens in one batch."""
    kv_dtype: str = "auto"
    """Format of cached keys and values; ``auto``: that of the model."""
    quantisation: str | None = None
    """Format of the weights; None: that of the checkpoint."""
    block_tokens: int | None = None
    prefix_caching: bool = True
    speculative_tokens: int = 0
    """Tokens that a drafter proposes (count)."""
    eager: bool = False
    """Whether CUDA graphs are off."""
    version: tuple[int, int] | None = None
    """Of the engine, where its row of the catalog holds for several; None: the newest of them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Options with the engine's defaults filled in."""

    share: float
    length: int
    seqs: int
    tokens: int
    """Tokens in one batch; drafted ones are among them, so that a drafter does not widen it."""


def settle(options: Options, architecture: Architecture, layout: Layout, gpu: Gpu | None, engine: Engine) -> Settings:
    """Fill in what the engine takes by itself."""
    batch = engine.batch(gpu) if gpu else engine.batches[-1]
    tokens = options.batched_tokens or batch.tokens
    seqs = options.max_seqs or min(batch.seqs, tokens)
    share = options.utilisation
    if share is None:
        share = adapted_share(gpu, layout, engine, tokens, seqs) if gpu and engine.adapts_share else engine.utilisation
    return Settings(share, options.max_len or architecture.max_context, seqs, tokens)


def adapted_share(gpu: Gpu, layout: Layout, engine: Engine, tokens: int, seqs: int) -> float:
    """Share that SGLang takes by itself: all but a reserve for a prefill chunk, graphs and ranks.

    Source: sglang server_args.py, memory settings (MiB there, with nvidia-smi's total).
    """
    graphs = min(seqs, 256 if layout.tensor < 4 else 512)
    reserve = 512 + 1.5 * max(tokens, 2_048) + 2 * graphs + layout.tensor * layout.pipeline / 8 * 1_024
    if gpu.memory_smi_mib > 60 * 1_024:
        reserve = max(reserve, 10 * 1_024)
    return round(1 - reserve / (gpu.memory_torch_gib * GIB / MIB), 3)
