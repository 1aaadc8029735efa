"""Words for what has no one word: layouts and formats."""

from __future__ import annotations

from infra.plan.layout import Layout
from infra.plan.single import Single


def layout_words(layout: Layout) -> str:
    """Name a layout, such as ``tensor 4, data 2``; empty for one GPU."""
    ways = (("tensor", layout.tensor), ("pipeline", layout.pipeline), ("data", layout.data))
    shares = [f"{kind} {count}" for kind, count in ways if count > 1]
    return ", ".join([*shares, *(["expert parallel"] if layout.expert_parallel else [])])


def format_words(single: Single) -> str:
    """Name the formats of weights and cache."""
    shape, options = single.architecture, single.options
    weights = options.quantisation or shape.quantisation or shape.dtype
    return f"{weights}, cache {'as the model' if options.kv_dtype == 'auto' else options.kv_dtype}"
