"""Peak activation of one rank."""

from __future__ import annotations

import pytest

from infra.catalog.calibration import Log, logs
from infra.catalog.checkpoints import CHECKPOINTS, checkpoint
from infra.catalog.engines import VLLM, engine_for
from infra.catalog.gpus import GPUS
from infra.plan.layout import Layout
from infra.plan.memory.activation import stage_activation
from infra.units import GIB

LOGGED = [row for row in logs() if row.activation_gib and row.version and row.like in CHECKPOINTS]


def _stages(row: Log, **changes: int) -> tuple[int, ...]:
    engine = engine_for(row.engine, row.version or (0, 0))
    assert engine
    batch = engine.batch(GPUS[row.gpu])
    settings = {"tokens": row.batched_tokens or batch.tokens, "seqs": row.max_seqs or batch.seqs} | changes
    return stage_activation(checkpoint(row.like), Layout(row.tensor, row.pipeline), engine, **settings)


@pytest.mark.parametrize("row", LOGGED, ids=lambda row: f"{row.id} {row.model}")
def test_activation_agrees_with_the_log(row: Log) -> None:
    """Within 0.1 GiB; a log of several stages is the first one's, which has no logits."""
    assert abs(_stages(row)[0] / GIB - (row.activation_gib or 0)) < 0.1


@pytest.mark.parametrize("row", LOGGED, ids=lambda row: f"{row.id} {row.model}")
def test_more_tokens_in_a_batch_never_take_less(row: Log) -> None:
    """Twice as many cost more once the layers outweigh the logits."""
    sizes = [max(_stages(row, tokens=tokens)) for tokens in (2_048, 8_192, 32_768, 131_072)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


def test_logits_are_on_every_rank_whole() -> None:
    """Eight ranks see the same peak as one. Source: TP rows of the llm-d-planner 0.3.3 accuracy report."""
    llama = checkpoint("meta-llama/Llama-3.1-8B-Instruct")
    one, eight = (stage_activation(llama, Layout(ranks), VLLM[0], tokens=8_192, seqs=1_024) for ranks in (1, 8))
    assert one == eight


def test_fewer_requests_in_a_batch_shrink_the_sampler() -> None:
    """256 instead of 1,024 requests take a quarter of the logits, until the layers are the peak."""
    qwen = checkpoint("Qwen/Qwen3-8B")
    few, many = (stage_activation(qwen, Layout(), VLLM[-1], tokens=2_048, seqs=seqs)[0] for seqs in (256, 1_024))
    assert many - few == 768 * qwen.vocab * VLLM[-1].logit_bytes
