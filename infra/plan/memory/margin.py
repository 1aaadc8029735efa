"""What must stay free beside all that an engine counts, because it is taken after the engine has counted."""

from __future__ import annotations

from math import ceil

from infra.catalog.architecture import Architecture, Layer
from infra.catalog.engines import Engine
from infra.plan.layout import Layout, kinds
from infra.plan.memory.options import Settings
from infra.units import GIB

CONTEXT_BYTES = GIB
"""CUDA context, fragmentation and NCCL's late buffers on each GPU (bytes). Source: shares of 0.98 and more that ran
out in service, vllm#19186; 1.37 GiB over the budget with eight ranks, vllm#51590."""

DELTA_PREFILL_BYTES = round(2.9 * GIB)
"""Chunked prefill of a gated delta net or Mamba layer, which profiling does not see (bytes). Source: vllm#44209:
2.9 GiB over the budget on each of two RTX 5090 with Qwen3.6-27B at 0.92, none at 0.85."""

SCAN_TOKENS = 64
"""Tokens after which a chunked scan keeps a copy of the recurrent state. Source: FLA_CHUNK_SIZE, vllm 0.32.0."""

SCAN_ARRAYS = 3
"""All that a chunked scan holds of a token at once, in copies of the state. Source: vllm#54775: 72 KiB a token with 48
heads of 128 × 128, of which the copies are 24; one GPU ran out with batches of 81,920 tokens, not of 65,536."""

STATE_BYTES = 2
"""Of each value in a copy; engines scan in bfloat16. Source: vllm#54775."""


def margin(architecture: Architecture, layout: Layout, settings: Settings) -> tuple[int, tuple[str, ...]]:
    """Bytes to keep free on each rank, and why.

    Args:
        architecture: the model.
        layout: how its layers are split.
        settings: the batch, whose tokens the scan of a recurrent layer holds at once.
    """
    state = max((_state(layer) for layer in kinds(architecture.layers)), default=0)
    if not state:
        return CONTEXT_BYTES, ()
    copies = SCAN_ARRAYS * settings.tokens / SCAN_TOKENS + settings.seqs
    scan = max(DELTA_PREFILL_BYTES, ceil(copies * state * STATE_BYTES / layout.tensor))
    return CONTEXT_BYTES + scan, (
        f"recurrent layers take up to {scan / GIB:.1f} GiB in a long prefill that the engine does not count; "
        "a replica has to read one longest prompt before it counts as ready",
    )


def _state(layer: Layer) -> int:
    """Values of the recurrent state of a layer, on all ranks together (count)."""
    return sum(state.values for cache in layer.caches for state in cache.states if state.is_temporal)


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
