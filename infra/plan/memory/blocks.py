"""The cache in blocks, by the options of an engine as far as they are set and its defaults for the rest."""

from __future__ import annotations

from collections.abc import Sequence

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.plan.cache import Pool, pool
from infra.plan.layout import Layout
from infra.plan.memory.options import Options, Settings


def blocks(
    architecture: Architecture,
    layout: Layout,
    engine: Engine,
    options: Options,
    settings: Settings,
    pool_bytes: int | Sequence[int],
) -> Pool:
    """Divide a cache of some size into blocks.

    Args:
        architecture: the model.
        layout: how it is dealt.
        engine: rules of the version in use.
        options: what the user set.
        settings: the same with the engine's defaults; ``length`` is the longest request admitted.
        pool_bytes: of one rank, or of a rank of each pipeline stage (bytes).
    """
    return pool(
        architecture,
        layout,
        engine=engine,
        pool_bytes=pool_bytes,
        kv_dtype=options.kv_dtype,
        block_tokens=options.block_tokens,
        max_len=settings.length,
        batched_tokens=settings.tokens,
        max_seqs=settings.seqs,
        prefix_caching=options.prefix_caching,
        speculative_tokens=options.speculative_tokens,
        version=options.version,
    )
