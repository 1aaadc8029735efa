"""Models made of nothing but what their layers keep."""

from __future__ import annotations

from typing import Any

from infra.catalog.architecture import Architecture, Cache, Layer, State
from infra.catalog.engines import VLLM
from infra.plan.cache import Pool, pool
from infra.plan.layout import Layout

GIB = 2**30

FULL = Cache("full", 8, 128, 128)
WINDOW = Cache("sliding", 8, 128, 128, window=1024)
CHUNK = Cache("chunked", 8, 128, 128, window=8192)
LATENT = Cache("latent", 1, 576)
INDEX = Cache("index", 1, 128)
DELTA = Cache("state", states=(State(3 * 8192, False, inputs=3), State(32 * 128 * 128, True, "float32")))
ENCODER = Cache("cross", 8, 128, 128, window=1500)


def model(
    *caches: Cache | tuple[Cache, ...], drafter: tuple[Cache, ...] = (), family: str = "Some", dtype: str = "bfloat16"
) -> Architecture:
    """A model of one layer for each cache, or for each tuple of them."""
    made = {cache: Layer((), cache if isinstance(cache, tuple) else (cache,)) for cache in (*caches, *drafter)}
    layers, ahead = (tuple(made[cache] for cache in row) for row in (caches, drafter))
    return Architecture("made", family, 4096, 128256, 1 << 20, 32, 8, layers, (), ahead, dtype=dtype)


def divide(architecture: Architecture, layout: Layout | None = None, **settings: Any) -> Pool:
    """Divide 40 GiB a rank with usual settings, unless told otherwise."""
    usual = {
        "engine": VLLM[0], "version": (0, 32), "pool_bytes": 40 * GIB, "kv_dtype": "auto", "block_tokens": None,
        "max_len": 32768, "batched_tokens": 8192, "max_seqs": 256,
    }  # fmt: skip
    return pool(architecture, layout or Layout(), **(usual | settings))
