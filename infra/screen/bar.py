"""Where the memory of a rank goes, as one bar."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text

from infra.plan.memory import Memory

LEAST_WIDTH = 20
"""Columns below which a bar says nothing (characters)."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the memory of a rank."""

    name: str
    size: int
    """Bytes."""
    glyph: str
    """Told apart without colours too."""
    colour: str


def parts(memory: Memory) -> tuple[Part, ...]:
    """Divide a rank's memory; what is kept back comes last."""
    pool = max(0, memory.kv_pool)
    taken = memory.weights + memory.activation + memory.runtime + memory.graphs + pool
    named = (
        Part("weights", memory.weights, "█", "blue"),
        Part("activation", memory.activation, "▓", "magenta"),
        Part("outside PyTorch", memory.runtime, "▒", "yellow"),
        Part("CUDA graphs", memory.graphs, "░", "cyan"),
        Part("KV cache", pool, "■", "green"),
        Part("kept back", max(0, memory.total - taken), "·", "dim"),
    )
    return tuple(part for part in named if part.size > 0)


def bar(memory: Memory, width: int) -> Text:
    """Draw the parts to scale; each that is there gets a column at least.

    Args:
        width: columns that the bar takes (characters).
    """
    shown = parts(memory)
    whole = max(memory.total, sum(part.size for part in shown))
    columns = _columns([part.size / whole for part in shown], max(width, LEAST_WIDTH))
    text = Text()
    for part, count in zip(shown, columns, strict=True):
        text.append(part.glyph * count, style=part.colour)
    return text


def _columns(shares: list[float], width: int) -> list[int]:
    """Share columns out so that they add up; the largest part gives what rounding takes."""
    counts = [max(1, round(share * width)) for share in shares]
    counts[counts.index(max(counts))] += width - sum(counts)
    return counts
