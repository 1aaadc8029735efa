"""How many GPUs may share one copy of a model, and how many it takes until all that is asked for fits."""

from __future__ import annotations

from infra.catalog.models import Architecture
from infra.config.models import Model
from infra.plan.facts import ModelPlan
from infra.plan.sizing import size


def legal(shape: Architecture, gpus: int) -> list[int]:
    """Numbers of ranks that a model's heads can be dealt to, none above the GPUs of a host (counts).

    Source: vllm 0.32.0, ModelConfig.verify_with_parallel_config (heads) and key/value heads split or copied.
    """
    return [ranks for ranks in range(1, gpus + 1) if _splits(shape.heads, ranks) and _deals(shape.kv_heads, ranks)]


def enough(plan: ModelPlan) -> int | None:
    """Smallest number of ranks that holds the longest request and the requests at once; None when none does."""
    fits = (ranks for ranks in legal(plan.shape, plan.pool.board.gpus) if _holds(plan, ranks))
    return next(fits, None)


def _splits(heads: int, ranks: int) -> bool:
    return heads % ranks == 0


def _deals(kv_heads: int, ranks: int) -> bool:
    return kv_heads % ranks == 0 or ranks % kv_heads == 0


def _holds(plan: ModelPlan, ranks: int) -> bool:
    model: Model = plan.model.model_copy(update={"tensor_parallel": ranks})
    memory = size(model, plan.shape, plan.pool.board, plan.engine)
    typical = model.typical_len or model.max_model_len
    return memory.longest(plan.shape.max_context) >= model.max_model_len and (
        memory.concurrency(typical) >= model.concurrency
    )
