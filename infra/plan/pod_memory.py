"""Host memory of a pod, by what takes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PodMemory:
    """Host memory of one pod (bytes)."""

    staged: int
    """Weights on their way through host memory."""
    shm: int
    """``/dev/shm``; it counts against the limit."""
    runtime: int
    """Interpreter, engine processes, and on a CPU the cache too."""
    limit: int
