"""The choice is the cheapest way that meets the goal, and says what keeps it from less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.catalog.boards import BOARDS, Board
from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.engines import engine_for
from infra.config.goal import Goal
from infra.plan.choice import Choice, Miss, Option, Place, attempt, choose, layouts
from infra.plan.formats import Format, allowed
from infra.plan.layout import Layout, problems
from infra.plan.spread import on_the_mean

VLLM = engine_for("vllm", (0, 32))
GOAL = Goal(prompt=2000, output=400, concurrency=256)
LLAMA_8B, LLAMA_70B = "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-70B-Instruct"
GPT, QWEN, DEEPSEEK = "openai/gpt-oss-120b", "Qwen/Qwen3.5-35B-A3B", "deepseek-ai/DeepSeek-V3"
SEVERAL = (LLAMA_8B, LLAMA_70B, GPT, QWEN, DEEPSEEK)
GPU_BOARDS = [name for name, board in BOARDS.items() if board.gpu]


def _choice(
    checkpoint: str, board: Board, goal: Goal = GOAL, *, hosts: int = 64, formats: tuple[Format, ...] = ()
) -> Choice:
    assert VLLM
    assert board.gpu
    architecture = CHECKPOINTS[checkpoint]
    may = formats or tuple(allowed(architecture, (), board.gpu))
    return choose(architecture, Place(board, VLLM, (0, 32), hosts), goal, max_len=16_384, formats=may)


def _gpus(choice: Choice) -> float:
    return choice.best.gpus if choice.best else float("inf")


def _with_memory(board: Board, factor: float) -> Board:
    assert board.gpu
    gpu = board.gpu
    more = replace(
        gpu, memory_torch_gib=gpu.memory_torch_gib * factor, memory_smi_mib=round(gpu.memory_smi_mib * factor)
    )
    return replace(board, gpu=more)


@pytest.mark.parametrize("checkpoint", SEVERAL)
@pytest.mark.parametrize("board", GPU_BOARDS)
def test_what_is_chosen_meets_the_goal(checkpoint: str, board: str) -> None:
    """It can be dealt, starts, stays free of what the engine does not count, and holds all requests at once."""
    best = _choice(checkpoint, BOARDS[board]).best
    if (checkpoint, board) == (DEEPSEEK, "hgx-h100"):
        assert best is None, "625 GiB of weights on a host of 633"
        return
    assert best
    assert VLLM
    assert problems(CHECKPOINTS[checkpoint], best.layout, VLLM, best.format.weights) == ()
    assert best.memory.fits
    assert best.memory.pool
    assert best.limits.max_seqs <= best.memory.pool.requests(GOAL.length)
    assert best.replicas * best.limits.max_seqs * best.layout.data >= GOAL.concurrency


@pytest.mark.parametrize("checkpoint", SEVERAL)
def test_no_way_that_was_not_chosen_is_cheaper(checkpoint: str) -> None:
    """Every layout of the host, tried one by one, takes as many GPUs or more."""
    assert VLLM
    board, architecture = BOARDS["hgx-h200"], CHECKPOINTS[checkpoint]
    place, form = Place(board, VLLM, (0, 32), 64), Format(architecture.quantisation or "bf16")
    found = [
        attempt(architecture, place, GOAL, max_len=16_384, layout=layout, form=form)
        for layout in layouts(architecture, place, form)
    ]
    gpus = sorted(way.gpus for way in found if isinstance(way, Option))
    choice = _choice(checkpoint, board)
    assert choice.best
    assert choice.best.gpus == gpus[0]
    assert choice.runner_up is None or choice.runner_up.gpus >= choice.best.gpus


@pytest.mark.parametrize("checkpoint", SEVERAL)
@pytest.mark.parametrize("board", GPU_BOARDS)
@pytest.mark.parametrize("limits", [{}, {"token_s": 0.05}, {"first_token_s": 4.0}], ids=["size", "token", "first"])
def test_twice_the_memory_is_never_dearer(checkpoint: str, board: str, limits: dict[str, Any]) -> None:
    """With more memory per GPU and nothing else changed, a goal takes as many GPUs or fewer."""
    goal = GOAL.model_copy(update=limits)
    counts = [_gpus(_choice(checkpoint, _with_memory(BOARDS[board], factor), goal)) for factor in (1, 2, 4)]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("more", "key"),
    [(512, "concurrency"), (8000, "prompt"), (0.03, "token_s"), (1.0, "first_token_s"), (20_000.0, "tokens_per_s")],
    ids=str,
)
@pytest.mark.parametrize("checkpoint", [LLAMA_8B, LLAMA_70B, GPT])
def test_asking_for_more_is_never_cheaper(checkpoint: str, key: str, more: float) -> None:
    """A harder goal takes as many GPUs as the easier one, or more."""
    harder = GOAL.model_copy(update={key: more})
    assert _gpus(_choice(checkpoint, BOARDS["hgx-h200"], harder)) >= _gpus(_choice(checkpoint, BOARDS["hgx-h200"]))


@pytest.mark.parametrize(
    ("checkpoint", "board", "changes", "binds"),
    [
        (LLAMA_8B, "hgx-b300", {"concurrency": 16}, ""),
        (LLAMA_70B, "hgx-h100", {"concurrency": 2}, "weights"),
        (LLAMA_8B, "hgx-h100", {"concurrency": 4000}, "concurrency"),
        (LLAMA_8B, "hgx-h100", {"token_s": 0.0001}, "token_s"),
        (LLAMA_8B, "hgx-h100", {"first_token_s": 0.0001}, "first_token_s"),
        (LLAMA_8B, "hgx-h100", {"tokens_per_s": 1e9}, "tokens_per_s"),
    ],
    ids=["one GPU", "weights", "requests", "token", "first token", "tokens"],
)
def test_a_choice_says_what_binds(checkpoint: str, board: str, changes: dict[str, Any], binds: str) -> None:
    """What would have to give way for less to do, or for anything to do at all."""
    assert _choice(checkpoint, BOARDS[board], GOAL.model_copy(update=changes)).binds == binds


def test_a_pool_that_is_too_small_is_what_binds() -> None:
    """Sixteen thousand requests on one host."""
    choice = _choice(LLAMA_70B, BOARDS["hgx-h100"], GOAL.model_copy(update={"concurrency": 16_000}), hosts=1)
    assert (choice.best, choice.binds) == (None, "hosts")


@pytest.mark.parametrize("checkpoint", [LLAMA_8B, LLAMA_70B, GPT])
def test_no_more_capacity_is_promised_than_the_slow_end_delivers(checkpoint: str) -> None:
    """Replicas were counted by the middle of the error; so many carried less than the goal on every other run."""
    first = _choice(checkpoint, BOARDS["hgx-h200"]).best
    assert first
    wanted = 1.3 * first.replicas * first.spread.speed.tokens_per_s
    best = _choice(checkpoint, BOARDS["hgx-h200"], GOAL.model_copy(update={"tokens_per_s": wanted})).best
    assert best
    assert best.likely < best.replicas
    assert best.replicas * best.spread.speed.tokens_per_s * 1.02 >= wanted, "uneven shares round up"


def test_what_only_the_mean_meets_is_no_choice_but_is_told() -> None:
    """A limit between the predicted time and the bad end of it is met by nothing for sure."""
    assert VLLM
    board, one = BOARDS["hgx-h200"], GOAL.model_copy(update={"concurrency": 1})
    place, form = Place(board, VLLM, (0, 32), 1), Format("bf16")
    ways = [
        attempt(CHECKPOINTS[LLAMA_8B], place, one, max_len=16_384, layout=layout, form=form, end=on_the_mean)
        for layout in layouts(CHECKPOINTS[LLAMA_8B], place, form)
    ]
    fastest = min(way.spread.speed.tpot_s for way in ways if isinstance(way, Option))
    choice = _choice(LLAMA_8B, board, one.model_copy(update={"token_s": fastest * 1.1}), hosts=1)
    assert (choice.best, choice.binds) == (None, "token_s")
    assert choice.likely


def test_a_smaller_format_is_taken_where_it_may_be_and_saves() -> None:
    """70B in FP8 needs half of what it needs in bfloat16 on H100, when the scores allow it."""
    board, goal = BOARDS["hgx-h100"], GOAL.model_copy(update={"concurrency": 32})
    plain = _choice(LLAMA_70B, board, goal, formats=(Format("bf16"),))
    small = _choice(LLAMA_70B, board, goal, formats=(Format("bf16"), Format("fp8")))
    assert small.best
    assert small.best.format == Format("fp8")
    assert _gpus(small) < _gpus(plain)


def test_the_checkpoint_as_published_wins_a_tie() -> None:
    """Nothing is made smaller for no gain."""
    goal = GOAL.model_copy(update={"concurrency": 8})
    best = _choice(LLAMA_8B, BOARDS["hgx-b300"], goal, formats=(Format("bf16"), Format("fp8"))).best
    assert best
    assert best.format == Format("bf16")


def test_a_board_without_gpus_has_no_choice() -> None:
    """It is said, not guessed."""
    assert VLLM
    place = Place(BOARDS["lab-host"], VLLM, (0, 32), 1)
    way = attempt(
        CHECKPOINTS[LLAMA_8B],
        place,
        GOAL,
        max_len=8192,
        layout=Layout(),
        form=Format("bf16"),
    )
    assert isinstance(way, Miss)
    assert "no GPUs" in way.because
