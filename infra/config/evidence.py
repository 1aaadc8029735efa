"""Evidence: what a smaller number format cost on the user's own tasks, and how much it may."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Self

from pydantic import Field, model_validator

from infra.config.base import Frozen
from infra.config.formats import CacheFormat, Quantisation


class Evidence(Frozen):
    """One task, scored with the checkpoint as published and with a smaller format."""

    checkpoint: str
    """What was scored, by the name that ``models.<name>.architecture`` gives it."""
    quantisation: Quantisation = "bf16"
    """Format of the weights that was scored."""
    kv_cache_dtype: CacheFormat = "auto"
    """Format of cached keys and values that was scored."""
    task: Annotated[str, Field(min_length=3)]
    """Name of the user's own benchmark."""
    baseline_score: Annotated[float, Field(gt=0)]
    quantised_score: Annotated[float, Field(ge=0)]
    allowed_loss: Annotated[float, Field(ge=0)]
    """Largest loss that is accepted, in points of the score."""
    is_lower_better: bool = False
    """Set it for perplexity and error rates."""
    date: date

    @model_validator(mode="after")
    def _allows_less_than_all(self) -> Self:
        if self.allowed_loss >= self.baseline_score:
            lets = "be twice as bad" if self.is_lower_better else "be anything"
            raise ValueError(
                f"allowed_loss={self.allowed_loss:g} is all of baseline_score={self.baseline_score:g}, so that a "
                f"score could {lets}; lower it"
            )
        return self

    @property
    def loss(self) -> float:
        """Points of the score that the smaller format loses; below zero when it gains."""
        gain = self.quantised_score - self.baseline_score
        return gain if self.is_lower_better else -gain

    @property
    def holds(self) -> bool:
        """Whether the loss is one that is accepted; rounding in the last digit decides nothing."""
        return self.loss <= self.allowed_loss + 1e-9
