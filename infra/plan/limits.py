"""Limits of a batch, and the memory it leaves: as the spec says, or as many requests as the cache holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import floor

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.catalog.gpus import Gpu
from infra.plan.formats import Format
from infra.plan.layout import Layout
from infra.plan.memory import Memory, Options, size
from infra.plan.memory.options import settle

USUAL_SEQS = 256
"""Requests in one batch where no goal says more; passed on, so that activation memory is as planned (count)."""

MOST_SEQS = 1024
"""Requests in one batch at most (count). Source: vllm 0.32.0 engine/arg_utils.py, its own largest default."""

RUNGS = (16_384, 8_192, 4_096, 2_048)
"""Sizes of a batch to choose from (tokens). Source: vllm 0.32.0 engine/arg_utils.py, its defaults and their halves."""

STEP = 0.01
"""Steps in which the engine's share of memory is lowered. Source: our choice, as people write it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Batch of one rank, and where its memory goes with it."""

    utilisation: float
    """Share of the memory that the engine asks for."""
    max_seqs: int
    """Requests in one batch (count)."""
    batched_tokens: int
    """Tokens in one batch."""
    memory: Memory


@dataclass(frozen=True, slots=True)
class Rank:
    """What one rank runs, and on what."""

    architecture: Architecture
    layout: Layout
    gpu: Gpu
    engine: Engine
    version: tuple[int, int]
    """Of the engine."""
    format: Format
    eager: bool = False
    """Whether CUDA graphs are off."""

    def limits(self, max_len: int, *, seqs: int, tokens: int) -> Limits:
        """Size a batch; where too little would stay free for what the engine does not count, its share is lowered.

        Args:
            max_len: longest request (tokens).
            seqs: requests in one batch (count).
            tokens: tokens in one batch.
        """
        options = Options(
            max_len=max_len,
            max_seqs=seqs,
            batched_tokens=tokens,
            kv_dtype=self.format.cache,
            quantisation=self.format.weights,
            eager=self.eager,
            version=self.version,
        )
        share = settle(options, self.architecture, self.layout, self.gpu, self.engine).share
        memory = self._size(options)
        if short := max(0, memory.margin - memory.headroom):
            share = round(floor((share - short / memory.total) / STEP) * STEP, 2)
            memory = self._size(replace(options, utilisation=share))
        return Limits(share, seqs, tokens, memory)

    def candidates(self, max_len: int, length: int) -> Iterator[Limits]:
        """Yield batches of as many usual requests as the cache holds, so that none is put back to wait.

        The largest comes first; one of fewer tokens leaves more memory for requests. What holds no longest request is
        among them, as its memory says what is short.

        Args:
            max_len: longest request (tokens).
            length: a usual request, prompt and answer together (tokens).
        """
        largest = self.engine.batch(self.gpu).tokens
        for tokens in (rung for rung in RUNGS if rung <= largest):
            first = self._held(max_len, length, seqs=USUAL_SEQS, tokens=tokens)
            room = int(first.memory.concurrency(length))
            if room <= USUAL_SEQS:
                yield first
                continue
            more = self._held(max_len, length, seqs=min(room, MOST_SEQS), tokens=tokens)
            # More requests take more memory for logits; at the edge that can cost more requests than it brings.
            yield max(more, first, key=lambda limits: limits.max_seqs)

    def _held(self, max_len: int, length: int, *, seqs: int, tokens: int) -> Limits:
        found = self.limits(max_len, seqs=seqs, tokens=tokens)
        return replace(found, max_seqs=found.memory.pool.requests(length) if found.memory.pool else 0)

    def _size(self, options: Options) -> Memory:
        return size(self.architecture, self.layout, self.gpu, self.engine, options)


def lacks(limits: Limits, max_len: int) -> str:
    """What one rank is short of, as ``Miss`` has it; empty when it holds the longest request and a usual one.

    Args:
        max_len: longest request (tokens).
    """
    memory = limits.memory
    if memory.kv_pool <= 0 or memory.pool is None:
        return "weights"
    holds = memory.pool.requests(max_len) >= 1 and memory.headroom >= memory.margin
    return "" if holds and limits.max_seqs else "context"
