"""What must stay free beside all that an engine counts, because it is taken after the engine has counted."""

from __future__ import annotations

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.units import GIB

CONTEXT_BYTES = GIB
"""CUDA context, fragmentation and NCCL's late buffers on each GPU (bytes). Source: shares of 0.98 and more that ran
out in service, vllm#19186; 1.37 GiB over the budget with eight ranks, vllm#51590."""

DELTA_PREFILL_BYTES = round(2.9 * GIB)
"""Chunked prefill of a gated delta net or Mamba layer, which profiling does not see (bytes). Source: vllm#44209:
2.9 GiB over the budget on each of two RTX 5090 with Qwen3.6-27B at 0.92, none at 0.85."""


def margin(architecture: Architecture) -> tuple[int, tuple[str, ...]]:
    """Bytes to keep free, and why."""
    if any(state.is_temporal for layer in architecture.layers for cache in layer.caches for state in cache.states):
        return CONTEXT_BYTES + DELTA_PREFILL_BYTES, (
            "recurrent layers take up to 2.9 GiB in a long prefill that the engine does not count; "
            "send one longest prompt before a replica counts as ready",
        )
    return CONTEXT_BYTES, ()


VIDEO_FAMILIES = ("VL", "Qwen3_5", "Omni")
"""Parts of class names of models that take videos of any length. Source: vllm 0.32.0 model_executor/models."""


def unseen(architecture: Architecture, engine: Engine) -> str:
    """What of a model's peak cannot be told from here; empty when all can."""
    takes_video = any(part in architecture.family for part in VIDEO_FAMILIES)
    if not (engine.profiles_longest_video and takes_video and _sees(architecture)):
        return ""
    return (
        f"{engine.name} of this version profiles the longest video that a request may hold, and what that takes "
        "cannot be told; set a limit of videos and their size, or use 0.17 or newer (QwenLM/Qwen3-VL#1684)"
    )


def _sees(architecture: Architecture) -> bool:
    return any(tensor.part == "vision" for tensor in architecture.outside)
