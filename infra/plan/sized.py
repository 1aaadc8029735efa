"""The batch and the memory of a model as its spec has it."""

from __future__ import annotations

from infra.catalog.architecture import Architecture
from infra.catalog.boards import Board
from infra.catalog.engines import Engine
from infra.config.models import Model
from infra.plan.formats import format_of
from infra.plan.layout import Layout
from infra.plan.limits import USUAL_SEQS, Limits, Rank, lacks
from infra.plan.memory import Options, size_on_host
from infra.plan.startup import EAGER
from infra.units import GIB


def layout_of(model: Model) -> Layout:
    """How a spec deals a model to GPUs."""
    return Layout(model.tensor_parallel, model.pipeline_parallel, model.data_parallel, model.expert_parallel)


def version_of(model: Model) -> tuple[int, int]:
    """Major and minor version of a model's engine."""
    major, minor, _ = (int(part) for part in model.engine_version.split("."))
    return major, minor


def sized(model: Model, architecture: Architecture, board: Board, engine: Engine) -> Limits:
    """Size a model on one rank of its pool.

    What the spec says of the batch holds. Without, a goal makes it as large as the cache allows; without a goal it is
    what the engine takes by itself, and 256 requests.

    Raises:
        ConfigError: the engine would refuse.
        Unknown: what it would do is not known.
    """
    if board.gpu is None:
        return _on_host(model, architecture, engine)
    form = format_of(model, architecture)
    rank = Rank(architecture, layout_of(model), board.gpu, engine, version_of(model), form, EAGER in model.engine_args)
    if model.goal and not (model.max_num_seqs or model.max_num_batched_tokens):
        found = list(rank.candidates(model.max_model_len, model.goal.length))
        return next((limits for limits in found if not lacks(limits, model.max_model_len)), found[-1])
    tokens = model.max_num_batched_tokens or engine.batch(board.gpu).tokens
    return rank.limits(model.max_model_len, seqs=model.max_num_seqs or min(USUAL_SEQS, tokens), tokens=tokens)


def _on_host(model: Model, architecture: Architecture, engine: Engine) -> Limits:
    tokens = model.max_num_batched_tokens or engine.batches[-1].tokens
    options = Options(
        max_len=model.max_model_len,
        max_seqs=model.max_num_seqs or min(USUAL_SEQS, tokens),
        batched_tokens=tokens,
        kv_dtype=model.kv_cache_dtype,
        version=version_of(model),
    )
    pool = round((model.kv_cache_gib or 0) * GIB)
    memory = size_on_host(architecture, layout_of(model), engine, options, pool)
    return Limits(engine.utilisation, options.max_seqs or 0, options.batched_tokens or 0, memory)
