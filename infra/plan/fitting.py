"""How many GPUs it takes until all that is asked of a replica fits."""

from __future__ import annotations

from infra.errors import ConfigError, Unknown
from infra.plan.facts import ModelPlan
from infra.plan.layout import legal_tensor
from infra.plan.sized import sized


def usual_length(plan: ModelPlan) -> int:
    """Prompt and answer of a usual request (tokens)."""
    return plan.model.typical_len or plan.model.max_model_len


def enough(plan: ModelPlan) -> int | None:
    """Smallest number of ranks that holds the longest request and the requests at once; None when none does."""
    legal = legal_tensor(plan.shape, plan.pool.board.gpus, plan.engine, plan.format.weights)
    return next((ranks for ranks in legal if _holds(plan, ranks)), None)


def _holds(plan: ModelPlan, ranks: int) -> bool:
    model = plan.model.model_copy(update={"tensor_parallel": ranks})
    try:
        memory = sized(model, plan.shape, plan.pool.board, plan.engine).memory
    except (ConfigError, Unknown):
        return False
    return memory.fits and bool(memory.pool and memory.pool.requests(usual_length(plan)) >= model.concurrency)
