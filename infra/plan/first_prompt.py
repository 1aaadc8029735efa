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
"""Where no GPU is, or nothing is known of its speed (tokens/s). Source: SEEN."""

LEAST_PATIENCE_SECONDS = 60
"""The first prompt also compiles kernels that no profile called (seconds). Source: our choice."""

PATIENCE = 1.5
"""Factor on the bad end of the prediction before the probe gives a try up."""


@dataclass(frozen=True, slots=True)
class FirstPrompt:
    """What a replica is asked before anybody else may ask it."""

    tokens: int
    """Of the prompt (count); 0: it is not asked."""
    prompts: int
    """At once, one for each data-parallel rank (count)."""
    seconds: int
    """How long reading takes."""
    patience: int
    """How long one try may take (seconds)."""


def first_prompt(
    model: Model, architecture: Architecture, layout: Layout, gpu: Gpu | None, engine: Engine, form: Format
) -> FirstPrompt:
    """Take the longest prompt that leaves room for one token, unless the spec says how long it is."""
    tokens = model.max_model_len - 1 if model.probe_prompt is None else model.probe_prompt
    if not tokens:
        return FirstPrompt(0, 0, 0, 0)
    usual, worst = _reading_s(tokens, architecture, layout, gpu, engine, form)
    patience = max(LEAST_PATIENCE_SECONDS, ceil(PATIENCE * worst))
    return FirstPrompt(tokens, layout.data, ceil(usual), patience)


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
