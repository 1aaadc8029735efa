"""Pools of SGLang, TensorRT-LLM, TGI and LightLLM in their simple form: tokens, and states of fixed size."""

from __future__ import annotations

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.plan.cache.formats import entry_bytes, state_bytes
from infra.plan.cache.groups import Group
from infra.plan.cache.request import Request
from infra.plan.cache.spec import Spec
from infra.plan.layout import Layout
from infra.units import ceil_div

STATE_DTYPE = "float32"
"""Of a recurrent state whose config asks for none. Source: SGLang, SGLANG_MAMBA_SSM_DTYPE."""


def token_groups(architecture: Architecture, layout: Layout, request: Request, engine: Engine) -> tuple[Group, ...]:
    """Count windows and chunks as if all tokens stayed, and states as the tokens whose room they take.

    Both err on the safe side: an engine that frees what lies outside a window holds more than is promised here.
    """
    tokens = request.block_tokens or engine.block_tokens
    layers = (*architecture.layers, *(architecture.drafter if request.speculative_tokens else ()))
    counts = layout.stages(len(architecture.layers))
    stages = [stage for stage, count in enumerate(counts) for _ in range(count)]
    stages += [layout.pipeline - 1] * (len(layers) - len(stages))
    held = []
    states = 0
    for stage, layer in zip(stages, layers, strict=True):
        for cache in layer.caches:
            if cache.kind == "state":
                drafted = request.speculative_tokens
                states += state_bytes(architecture, cache, layout.tensor, drafted, temporal=STATE_DTYPE)
            else:
                entry = entry_bytes(architecture, cache, request.kv_dtype, layout.tensor)
                held.append((stage, Spec("full", tokens, entry, tokens * entry)))
    if not held:
        return (Group(((0, Spec("state", 1, states, states, states=1)),)),)
    if not states:
        return (Group(tuple(held)),)
    weight = sum(spec.page_bytes for _, spec in held)
    return (Group(tuple(held)), Group(((0, Spec("state", tokens, states, 0, states=ceil_div(states, weight))),)))
