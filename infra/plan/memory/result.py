"""What sizing says: where the memory of the tightest rank goes, and what is left for answers."""

from __future__ import annotations

from dataclasses import dataclass

from infra.plan.cache import Pool


@dataclass(frozen=True, slots=True)
class Memory:
    """Where the memory of one rank goes (bytes), and what is left for answers."""

    total: int
    """What PyTorch sees on the GPU, or the pod's limit on a CPU."""
    usable: int
    """What the engine takes at most for all that it counts."""
    weights: int
    activation: int
    """Peak of a batch as the engine profiles it."""
    runtime: int
    """Outside PyTorch: driver, NCCL, interpreter."""
    graphs: int
    """CUDA graphs, whether they come off before the pool or out of what is left beside the share."""
    kv_pool: int
    """What is left for keys, values and states; below zero when it does not fit."""
    kv_tokens: int
    """Tokens the pool holds as the engine logs them: concurrency at the longest request times its length."""
    block_tokens: int
    """Tokens in one block; a request never shares its last one."""
    length: int
    """Longest request that was asked for (tokens)."""
    pool: Pool | None
    """The pool in blocks; None when nothing is left for one."""
    rank: str
    """Which rank is the tightest."""
    margin: int
    """Bytes to stay free beside all that the engine counts; what is short of it fails in service, not at the start."""
    headroom: int
    """Bytes that do stay free beside it; below ``margin`` the layout is not safe."""
    notes: tuple[str, ...]
    """Why a figure is what it is, one sentence each."""

    @property
    def starts(self) -> bool:
        """Whether the engine starts: one longest request fits into the pool."""
        return self.pool is not None and self.pool.longest(self.length) >= self.length

    @property
    def fits(self) -> bool:
        """Whether it starts and goes on: nothing that the engine does not count has to come out of the pool."""
        return self.starts and self.headroom >= self.margin

    def longest(self, max_context: int) -> int:
        """Longest request that fits (tokens)."""
        return self.pool.longest(max_context) if self.pool else 0

    def concurrency(self, length: int) -> float:
        """Requests of one length that fit at once."""
        return self.pool.concurrency(length) if self.pool else 0.0
