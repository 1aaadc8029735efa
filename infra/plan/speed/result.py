"""What a prediction of speed takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["memory", "compute", "links"]
"""What most of a decoding step waits for."""


@dataclass(frozen=True, slots=True)
class Load:
    """Requests that one replica answers at a time."""

    prompt: int
    """Tokens of a prompt (count)."""
    output: int
    """Tokens of an answer (count)."""
    concurrency: int
    """Requests that are being answered at any time (count)."""


@dataclass(frozen=True, slots=True)
class Band:
    """How far measurements lay from what is predicted here, for nine rows of ten."""

    low: float
    """Lower end, as a factor of the prediction."""
    high: float
    """Upper end, as a factor of the prediction."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of one replica under a load, with how far it may be off."""

    ttft_s: float
    """From a request to its first token (seconds)."""
    tpot_s: float
    """From a token to the next (seconds)."""
    tokens_per_s: float
    """Answer tokens of the replica (tokens/s)."""
    tokens_per_s_per_gpu: float
    """Answer tokens of one of its GPUs (tokens/s)."""
    ttft_band: Band
    """Error of ``ttft_s``."""
    band: Band
    """Error of ``tpot_s``."""
    basis: str
    """Rows that the efficiencies were fitted on, for people."""
    extrapolated: tuple[str, ...]
    """In what the input lies outside of those rows; empty: in nothing."""
    bound: Bound
    """What most of a step waits for."""
    promise: float
    """Share of the rates to count on."""
    notes: tuple[str, ...] = ()
    """What may make it slower than predicted, in sentences."""

    @property
    def promised_per_s(self) -> float:
        """Answer tokens of the replica to count on (tokens/s)."""
        return self.tokens_per_s * self.promise
