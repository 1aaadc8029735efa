"""How long a replica takes to its first answer: bytes over bandwidths, then compile and graph capture."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

from infra.catalog.architecture import Architecture
from infra.catalog.boards import Board
from infra.catalog.configs.formats import plain_form
from infra.catalog.engines import Engine
from infra.catalog.quantisations import quantisation
from infra.config.models import Model
from infra.plan.first_prompt import FirstPrompt
from infra.plan.layout import Layout
from infra.plan.memory.graphs import sizes
from infra.plan.memory.weights import stage_weights
from infra.units import GB

STARTUP_FLOOR_SECONDS = 600
"""No budget below this: a slow first start is cheaper than a restart loop. Source: serving checklist, the
smallest budget that public charts use for large models."""

STARTUP_MARGIN = 1.5
"""Factor over the computed time, for a busy disk and a cold page cache."""

PROGRESS_MARGIN_SECONDS = 300
"""On top of the startup budget before a rollout counts as stuck: image pull and scheduling."""

CAPTURE_SECONDS = 0.25
"""Capture of one CUDA graph (seconds). Source: 67 graphs in 17 s, vllm#20264."""

EAGER = "--enforce-eager"
"""Argument without which vLLM compiles and captures."""


@dataclass(frozen=True, slots=True)
class Startup:
    """Time to the first readiness (seconds)."""

    read: int
    """Weights from storage to host memory."""
    copy: int
    """Host memory to GPUs, all ranks of a host side by side."""
    compile: int
    """Compile and warm-up, cold."""
    capture: int
    """Capture of CUDA graphs."""
    prompt: int
    """The first prompt, read before readiness."""
    floor: int
    """The sum; a budget below it cannot hold."""
    budget: int
    """What the startup probe allows."""
    progress_deadline: int


def stored_bytes(architecture: Architecture) -> int:
    """Size of the checkpoint as it lies on disk, in the format it was published in (bytes)."""
    form = quantisation(architecture.quantisation or plain_form(architecture.stored_dtype))
    stored = replace(architecture, dtype=architecture.stored_dtype)
    return sum(stage_weights(stored, Layout(), form, drafter=False))


def startup(
    model: Model, *, stored: int, rank_bytes: int, board: Board, engine: Engine, seqs: int, first: FirstPrompt
) -> Startup:
    """Add up how long the first readiness takes, unless the spec says how long it may.

    Args:
        stored: the checkpoint on disk (bytes).
        rank_bytes: weights of one rank (bytes).
        seqs: requests in one batch, which decides how many graphs there are (count).
        first: prompt that it reads before it is ready.
    """
    read = ceil(stored / (model.weights.read_gb_s * GB))
    copy = ceil(rank_bytes / (board.gpu.pcie_gb_s * GB)) if board.gpu else 0
    compiled, captured = _warm(board, engine, seqs) if EAGER not in model.engine_args else (0, 0)
    floor = read + copy + compiled + captured + first.seconds
    budget = max(STARTUP_FLOOR_SECONDS, ceil(floor * STARTUP_MARGIN / 10) * 10)
    if model.startup_budget:
        budget = round(model.startup_budget.total_seconds())
    deadline = budget + PROGRESS_MARGIN_SECONDS
    if model.progress_deadline:
        deadline = round(model.progress_deadline.total_seconds())
    return Startup(read, copy, compiled, captured, first.seconds, floor, budget, deadline)


def _warm(board: Board, engine: Engine, seqs: int) -> tuple[int, int]:
    """Compile and capture (seconds); the engine's figure is for both, with as many graphs as it has by default."""
    if board.gpu is None:
        return 0, 0
    captured = ceil(sizes(board.gpu, seqs) * CAPTURE_SECONDS)
    return max(0, engine.compile_seconds - captured), captured
