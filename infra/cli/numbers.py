"""Numbers on the command line: each within the bounds of what it counts, all mistakes told at once."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """What one option may be."""

    least: float
    most: float
    is_whole: bool = True
    usual: int | None = None
    """Where nobody says; None: what hangs on it decides."""

    @property
    def allowed(self) -> str:
        """Its bounds, for people."""
        return f"{'a whole number' if self.is_whole else 'a number'} from {self.least:,} to {self.most:,}"


_MANY = 1_000_000_000
"""More tokens or requests than anything holds, beyond which a number is a mistake (count)."""

_RANKS = Number(1, 4_096, usual=1)

NUMBERS = {
    "gpus": _RANKS,
    "pipeline": _RANKS,
    "data": _RANKS,
    "max_len": Number(2, _MANY),
    "max_seqs": Number(1, _MANY),
    "batched_tokens": Number(1, _MANY),
    "speculative_tokens": Number(0, 64, usual=0),
    "utilisation": Number(0.01, 1, is_whole=False),
    "prompt": Number(1, _MANY),
    "output": Number(1, _MANY),
    "concurrency": Number(1, _MANY),
    "usd_per_gpu_hour": Number(0.001, 1_000_000, is_whole=False),
}
"""By the option's name in the namespace."""


def convert(options: argparse.Namespace) -> list[str]:
    """Turn texts into numbers where they stand, and return a sentence for each that is none."""
    problems = []
    for name, number in NUMBERS.items():
        text = getattr(options, name, None)
        if isinstance(text, str):
            value = _value(text, number)
            setattr(options, name, value)
            if value is None:
                option = f"--{name.replace('_', '-')}"
                problems.append(f"{option} {text!r} — {number.allowed} is allowed; give one")
        if getattr(options, name, None) is None:
            setattr(options, name, number.usual)
    return problems


def _value(text: str, number: Number) -> float | None:
    try:
        value = int(text) if number.is_whole else float(text)
    except ValueError:
        return None
    return value if number.least <= value <= number.most else None
