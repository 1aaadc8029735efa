"""What a GPU hour costs: the shape of a price, and a public reference for whoever has not said their own."""

from __future__ import annotations

from dataclasses import dataclass

REFERENCE = "reference"
"""Basis of a price that is nobody's offer."""


@dataclass(frozen=True, slots=True)
class Price:
    """What one GPU costs in an hour, or one host of a pool without GPUs."""

    usd_per_gpu_hour: float
    basis: str
    """Whose price it is: the key of the stack that says it, or ``reference``."""
    as_of: str
    """When it was true, such as ``2026-08``; empty when nobody says."""
    source: str

    @property
    def is_reference(self) -> bool:
        """Whether it is ours, to be replaced by what the user really pays."""
        return self.basis == REFERENCE


_CATALOGUE = "llm-d-planner 0.3.3 data/configuration/gpu_catalog.json, which calls them reference values and no quotes"

REFERENCES = {
    gpu: Price(usd, REFERENCE, "2026-08", _CATALOGUE)
    for gpu, usd in (("h100", 4.5), ("h200", 5.75), ("b200", 7.25), ("a100", 3.5), ("l4", 0.8))
}
"""By GPU. None for B300, GB200 and GB300: no public price was found that could be cited."""
