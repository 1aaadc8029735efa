"""The longest prompt, which a replica reads once before it counts as ready.

What an engine takes while it reads in pieces is not in its own profile: replicas were ready, and ran out of memory with
the first long prompt (vllm#44209). One such prompt at the start turns that into a replica that never gets traffic.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.catalog.gpus import Gpu
from infra.config.models import Model
from infra.errors import ConfigError, Unknown
from infra.plan.formats import Format
from infra.plan.layout import Layout
from infra.plan.speed import Load, predict

SLOW_TOKENS_PER_S = 1_000
"""Where no GPU is, or nothing is known of its speed (tokens/s). Source: half of what was seen of vLLM 0.32.0 with the
lab's tiny model, 8,191 tokens in 3.8 to 5.0 s on two busy CPUs."""

LEAST_PATIENCE_SECONDS = 60
"""The first prompt also compiles kernels that no profile called (seconds). Source: our choice."""

PATIENCE = 1.5
"""Factor on the bad end of the prediction before a try is given up. Source: our choice, as for the startup budget."""


@dataclass(frozen=True, slots=True)
class FirstPrompt:
    """What a replica is asked before anybody else may ask it."""

    tokens: int = 0
    """Of the prompt (count); 0: it is not asked."""
    prompts: int = 1
    """At once, one for each data-parallel rank (count)."""
    seconds: int = 0
    """How long reading takes."""
    patience: int = LEAST_PATIENCE_SECONDS
    """How long one try may take (seconds)."""


def first_prompt(
    model: Model, architecture: Architecture, layout: Layout, gpu: Gpu | None, engine: Engine, form: Format
) -> FirstPrompt:
    """Take the longest prompt that leaves room for one token, unless the spec says how long it is."""
    tokens = model.max_model_len - 1 if model.first_prompt is None else model.first_prompt
    if not tokens or not _reads(architecture):
        return FirstPrompt()
    usual, worst = _reading_s(tokens, architecture, layout, gpu, engine, form)
    return FirstPrompt(tokens, layout.data, ceil(usual), max(LEAST_PATIENCE_SECONDS, ceil(PATIENCE * worst)))


def _reads(architecture: Architecture) -> bool:
    """Whether it reads text in pieces: encoders take it whole, and those that hear need something to hear."""
    kinds = {cache.kind for layer in architecture.layers for cache in layer.caches}
    return bool(kinds) and "cross" not in kinds


def _reading_s(
    tokens: int, architecture: Architecture, layout: Layout, gpu: Gpu | None, engine: Engine, form: Format
) -> tuple[float, float]:
    """Time to the first token, predicted and at the bad end of its error (seconds)."""
    slow = tokens / SLOW_TOKENS_PER_S
    if gpu is None:
        return slow, slow
    load = Load(tokens, 1, layout.data)
    try:
        speed = predict(architecture, layout, gpu, engine, form.weights, load, kv_dtype=form.cache)
    except (ConfigError, Unknown):
        return slow, slow
    return speed.ttft_s, speed.ttft_s * speed.ttft_band.high
