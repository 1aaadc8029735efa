"""Activation of one rank: the peak that an engine sees while it profiles one full batch."""

from __future__ import annotations

from infra.catalog.architecture import Architecture, Layer
from infra.catalog.engines import Engine
from infra.plan.layout import Layout, is_down, kinds, local_shape

VALUE_BYTES = 2
"""Bytes of one activation; engines compute in bfloat16 whatever the weights are."""

MOE_CHUNK_TOKENS = 32_768
"""Tokens that pass the experts at once. Source: vllm 0.32.0 envs.py, VLLM_FUSED_MOE_CHUNK_SIZE."""


def stage_activation(
    architecture: Architecture, layout: Layout, engine: Engine, *, tokens: int, seqs: int
) -> tuple[int, ...]:
    """Peak activation of one rank of each pipeline stage (bytes).

    A stage holds the hidden states of the batch while it either passes its widest layer or, on the last stage, works
    on the logits of one token of every request; these are on every rank whole, so tensor parallelism does not help.
    """
    hidden = tokens * architecture.hidden * VALUE_BYTES
    layers = max((_layer(layer, architecture, layout, tokens) for layer in kinds(architecture.layers)), default=0)
    logits = min(seqs, tokens) * architecture.vocab * engine.logit_bytes
    sees = any(tensor.part == "vision" for tensor in architecture.outside)
    # What the vision encoder gave stays until the batch is through.
    kept = engine.persistent_bytes + hidden * (2 if sees else 1)
    through, last = kept + layers, kept + max(layers, logits)
    return (*(through for _ in range(layout.pipeline - 1)), last)


def _layer(layer: Layer, architecture: Architecture, layout: Layout, tokens: int) -> int:
    """Residual, hidden states in and out of a block, and its inner values: gate and up, and their product."""
    inner = max(_attention(layer, architecture, layout), 3 * _dense(layer, architecture, layout))
    values = tokens * (3 * architecture.hidden + inner)
    routed = min(tokens, MOE_CHUNK_TOKENS) * _experts(layer, architecture, layout)
    return (values + routed) * VALUE_BYTES


def _attention(layer: Layer, architecture: Architecture, layout: Layout) -> int:
    """Queries, keys and values, or the projections of a recurrent layer, twice: before and after the kernel."""
    return 2 * sum(
        local_shape(tensor, layer, architecture, layout)[0] * tensor.count
        for tensor in layer.tensors
        if tensor.part in ("attention", "recurrent") and tensor.split in ("columns", "kv") and tensor.columns > 1
    )


def _dense(layer: Layer, architecture: Architecture, layout: Layout) -> int:
    return sum(
        local_shape(tensor, layer, architecture, layout)[1] * tensor.count
        for tensor in layer.tensors
        if tensor.part in ("dense", "shared") and tensor.split == "rows"
    )


def _experts(layer: Layer, architecture: Architecture, layout: Layout) -> int:
    """Each chosen expert's gate and up or its output, whichever is wider, and the product, for each token."""
    if not layer.active_experts:
        return 0
    widths = (
        local_shape(tensor, layer, architecture, layout)[1]
        for tensor in layer.tensors
        if tensor.part == "expert" and is_down(tensor, architecture)
    )
    width = max(widths, default=0)
    return layer.active_experts * (max(2 * width, architecture.hidden) + width)
