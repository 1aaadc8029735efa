"""Speed of a replica: time to the first token, time between tokens, tokens per second, each with its error."""

from __future__ import annotations

from infra.plan.speed.prediction import predict, predictor
from infra.plan.speed.result import Band, Bound, Load, Speed

__all__ = ["Band", "Bound", "Load", "Speed", "predict", "predictor"]
