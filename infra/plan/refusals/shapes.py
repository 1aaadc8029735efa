"""RW-102 and 104: a model dealt to GPUs that its shapes do not allow, or beyond one NVLink domain.

A replica is one pod on one host, so a layout beyond the host is beyond the domain too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from infra.plan.facts import ModelPlan, Refusal
from infra.plan.fitting import enough
from infra.plan.layout import Layout, legal_tensor, problems
from infra.units import ceil_div


def check(plan: ModelPlan) -> Iterator[Refusal]:
    """Yield the first reason why the ranks of a model cannot be; what hangs on them is then not judged."""
    board, layout = plan.pool.board, plan.layout
    if board.gpu is None:
        yield from _without_gpus(plan)
    elif layout.gpus > board.gpus:
        yield _beyond(plan)
    else:
        for problem in problems(plan.shape, layout, plan.engine, plan.format.weights)[:1]:
            found = problem.rpartition("; ")[0].replace(" — ", ", ")
            yield plan.refuse("RW-102", _key(plan), found, _fix(plan, problem))


def _without_gpus(plan: ModelPlan) -> Iterator[Refusal]:
    ranks = plan.layout.gpus
    if ranks > 1:
        found = f"{ranks} ranks on board {plan.pool.board.name!r} without GPUs"
        yield plan.refuse("RW-101", _key(plan), found, "set it to 1")


def _beyond(plan: ModelPlan) -> Refusal:
    board, layout = plan.pool.board, plan.layout
    hosts = ceil_div(layout.gpus, board.gpus)
    found = f"{layout.gpus} GPUs per replica, a host of pool {plan.pool.name!r} has {board.gpus} in one NVLink domain"
    if enough(replace(plan, model=plan.model.model_copy(update={"pipeline_parallel": 1, "data_parallel": 1}))) is None:
        gang = f"{hosts} hosts as one replica are not planned, and no width within one holds what is asked"
        return plan.refuse("RW-104", _key(plan), found, f"{_smaller(plan)}; {gang}")
    most = board.gpus // (layout.gpus // getattr(layout, _WIDEST[_key(plan)]))
    is_tensor = _key(plan) == "tensor_parallel"
    allowed = legal_tensor(plan.shape, max(1, most), plan.engine, plan.format.weights) if is_tensor else []
    return plan.refuse("RW-104", _key(plan), found, f"set it to {allowed[-1] if allowed else max(1, most)} or lower")


def _smaller(plan: ModelPlan) -> str:
    format_too = "" if plan.format.weights in ("fp8", "nvfp4") else ", or a smaller format"
    return f"use a pool whose GPUs have more memory{format_too}"


_WIDEST = {"tensor_parallel": "tensor", "pipeline_parallel": "pipeline", "data_parallel": "data"}
"""Config keys of the ways to deal a model, and what a layout calls each."""


def _key(plan: ModelPlan) -> str:
    """Config key of the way that takes most GPUs."""
    return max(_WIDEST, key=lambda key: getattr(plan.layout, _WIDEST[key]))


def _fix(plan: ModelPlan, problem: str) -> str:
    """Name the number of ranks that fits, where only that is wrong; else what the layout itself says."""
    if plan.layout != Layout(plan.layout.tensor):
        return problem.rpartition("; ")[2]
    allowed = legal_tensor(plan.shape, plan.pool.board.gpus, plan.engine, plan.format.weights)
    if not allowed:
        return problem.rpartition("; ")[2]
    return f"set it to {enough(plan) or allowed[-1]}; allowed are {', '.join(map(str, allowed))}"
