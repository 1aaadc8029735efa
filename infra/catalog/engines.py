"""Engines: the rules by which each version divides memory, and what it does when told to stop."""

from __future__ import annotations

from dataclasses import dataclass

from infra.units import GIB


@dataclass(frozen=True, slots=True)
class Engine:
    """One line of versions of an engine that share their rules."""

    name: str
    since: tuple[int, int]
    """First version (major, minor) these rules hold for."""
    utilisation: float
    """Default share of the GPU's torch total that the engine asks for."""
    graphs_bytes: int
    """CUDA graphs, taken off before the KV pool; upper end of what was observed (bytes)."""
    non_torch_bytes: tuple[int, int]
    """Outside PyTorch: with one rank, with several (bytes)."""
    block_tokens: int
    """Tokens in one KV block."""
    compile_seconds: int
    """Compile and graph capture with a cold cache (seconds)."""
    teardown_seconds: int
    """From the last answer to process exit (seconds)."""
    port: int
    ready_path: str
    """Answers 200 only when the model can answer; ``/health`` does so too early."""
    source: str


VLLM = (
    Engine("vllm", (0, 21), 0.92, round(1.85 * GIB), (round(0.27 * GIB), round(2.1 * GIB)), 16, 300, 15, 8000,
           "/v1/models", "vllm 0.32.0 config/cache.py; CUDA graphs 0.11-1.85 GiB and non-torch memory as the "
           "llm-d-planner 0.3.3 accuracy report logs them"),
)  # fmt: skip
"""Newest first. Version 0.21 began to take CUDA graphs off before the KV pool."""

ENGINES = {"vllm": VLLM}
"""By engine name, then newest first."""


def engine_for(name: str, version: tuple[int, int]) -> Engine | None:
    """Find the rules that hold for a version; None when it is older than all we know."""
    return next((row for row in ENGINES[name] if version >= row.since), None)
