"""A model of the stack is sized as its spec has it, and its batch is what its memory holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from infra.catalog.boards import BOARDS
from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.engines import engine_for
from infra.catalog.gpus import GPUS, Gpu
from infra.plan.architectures import architecture_of
from infra.plan.fitting import enough
from infra.plan.formats import Format
from infra.plan.layout import Layout
from infra.plan.limits import MOST_SEQS, RUNGS, USUAL_SEQS, Rank, lacks
from infra.plan.memory import Memory
from infra.plan.single import single_of
from infra.units import GIB
from tests.unit.plan.specs import LAB, model_of, plan_of, read

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_70B = "meta-llama/Llama-3.1-70B-Instruct"
LLAMA_405B = "meta-llama/Llama-3.1-405B-Instruct"
VLLM = engine_for("vllm", (0, 32))


def _memory(architecture: str, board: str, ranks: int = 1) -> Memory:
    changes = {
        "models/chat/architecture": architecture,
        "models/chat/tensor_parallel": ranks,
        "pools/gpus/board": board,
    }
    return model_of(changes).memory


def _rank(checkpoint: str, gpu: Gpu = GPUS["h100"], ranks: int = 1) -> Rank:
    assert VLLM
    return Rank(CHECKPOINTS[checkpoint], Layout(ranks), gpu, VLLM, (0, 32), Format("bf16"))


@pytest.mark.parametrize(
    ("name", "gib"), [(LLAMA_8B, 15.0), (LLAMA_70B, 131.4), (LLAMA_405B, 756.0)], ids=["8B", "70B", "405B"]
)
def test_weights_take_what_the_checkpoint_takes(name: str, gib: float) -> None:
    """All ranks together hold the checkpoint once, in bfloat16, but for what each rank has whole."""
    assert _memory(name, "hgx-b300", ranks=8).weights * 8 / GIB == pytest.approx(gib, rel=0.003)


@pytest.mark.parametrize(
    ("name", "board", "ranks", "fits"),
    [
        (LLAMA_8B, "hgx-h100", 1, True),
        (LLAMA_70B, "hgx-h100", 1, False),
        (LLAMA_70B, "hgx-h200", 1, False),
        (LLAMA_70B, "hgx-b300", 1, True),
        (LLAMA_405B, "hgx-h100", 8, False),
        (LLAMA_405B, "hgx-h200", 8, True),
    ],
    ids=["8B on H100", "70B on H100", "70B on H200", "70B on B300", "405B on 8 H100", "405B on 8 H200"],
)
def test_known_pairs_fit_or_do_not(name: str, board: str, ranks: int, fits: bool) -> None:
    """What everyone who has tried knows."""
    assert (_memory(name, board, ranks).kv_pool > 0) is fits


def test_the_parts_add_up() -> None:
    """Nothing of a rank's usable memory is lost or counted twice."""
    memory = _memory(LLAMA_70B, "hgx-h100", ranks=4)
    assert memory.weights + memory.activation + memory.runtime + memory.graphs + memory.kv_pool == memory.usable


@pytest.mark.parametrize(
    ("board", "tokens"), [("hgx-h100", 8192), ("hgx-h200", 8192), ("hgx-b200", 16384), ("hgx-b300", 16384)]
)
def test_a_batch_is_as_large_as_the_engine_makes_it(board: str, tokens: int) -> None:
    """The engine's own default for each size of GPU. Source: vllm 0.32.0 engine/arg_utils.py."""
    plan = model_of({"pools/gpus/board": board})
    assert (plan.batched_tokens, plan.max_seqs) == (tokens, USUAL_SEQS)


def test_on_a_cpu_the_cache_is_what_the_spec_says() -> None:
    """Nothing is divided where there is no GPU memory; the lab's engine logs 2,097,152 tokens and 256.00x."""
    plan = model_of({"models/tiny/kv_cache_gib": 1}, LAB)
    assert (plan.memory.kv_pool, plan.batched_tokens, plan.max_seqs) == (GIB, 2048, 256)
    assert (plan.memory.kv_tokens, plan.memory.concurrency(8192)) == (2_097_152, 256)


def test_a_shape_of_ones_own_is_counted() -> None:
    """2 layers of 128 wide and two tables of 8,192 words."""
    stack = read(base=LAB).stack
    assert stack
    shape = architecture_of("tiny", stack.models["tiny"], {})
    assert shape
    assert shape.parameters == 2 * (49_152 + 196_608 + 256) + 2 * 8192 * 128 + 128


def test_a_model_may_bring_its_own_config(tmp_path: object) -> None:
    """Without one that can be read it is told once, and nothing else is said of the model."""
    spec = read({"models/chat/config": "none.json"})
    assert [problem.partition(":")[0] for problem in spec.problems] == ["models.chat.config"]
    assert spec.stack
    assert plan_of({"models/chat/architecture": LLAMA_70B, "models/chat/tensor_parallel": 4}).refusals == ()


@pytest.mark.parametrize(
    "checkpoint", [LLAMA_8B, "openai/gpt-oss-20b", "Qwen/Qwen3.5-35B-A3B", "deepseek-ai/DeepSeek-V3"]
)
@pytest.mark.parametrize("length", [2048, 32768], ids=str)
def test_no_batch_holds_more_requests_than_the_cache(checkpoint: str, length: int) -> None:
    """So that none of usual length is put back to wait, and none is larger than the engine would make it."""
    for limits in _rank(checkpoint, GPUS["b300"], 8).candidates(32768, length):
        assert limits.memory.pool
        assert limits.max_seqs <= min(MOST_SEQS, limits.memory.pool.concurrency(length))
        assert limits.batched_tokens in RUNGS


def test_a_smaller_batch_leaves_more_memory() -> None:
    """Batches come largest first, each with a larger pool than the one before."""
    pools = [limits.memory.kv_pool for limits in _rank(LLAMA_70B, ranks=4).candidates(8192, 8192)]
    assert len(pools) == 3
    assert pools == sorted(pools)


def test_what_the_engine_does_not_count_stays_free() -> None:
    """Recurrent layers take 2.9 GiB that profiling does not see, so the engine's share is lowered on a small GPU."""
    rank = _rank("Qwen/Qwen3.5-35B-A3B", GPUS["l40s"], 4)
    limits = rank.limits(32768, seqs=64, tokens=2048)
    assert limits.utilisation < 0.92
    assert limits.memory.headroom >= limits.memory.margin


@pytest.mark.parametrize(("ranks", "lacking"), [(1, "weights"), (2, "context"), (4, "")], ids=str)
def test_a_rank_says_what_it_lacks(ranks: int, lacking: str) -> None:
    """70B on H100: the weights do not fit on one, one longest request not on two, both on four."""
    assert lacks(_rank(LLAMA_70B, ranks=ranks).limits(65536, seqs=8, tokens=8192), 65536) == lacking


@pytest.mark.parametrize(("length", "ranks"), [(8192, 2), (65536, 4), (131072, 4)], ids=["short", "long", "longest"])
def test_the_ranks_that_are_named_hold_all_that_is_asked_for(length: int, ranks: int) -> None:
    """One edit is enough."""
    changes = {"models/chat/architecture": LLAMA_70B, "models/chat/max_model_len": length}
    assert enough(model_of(changes)) == ranks
    assert plan_of({**changes, "models/chat/tensor_parallel": ranks}).refusals == ()
    if ranks > 2:
        assert plan_of({**changes, "models/chat/tensor_parallel": ranks // 2}).refusals != ()


def test_more_memory_never_holds_fewer_requests() -> None:
    """Of the same model, the same batch, on a GPU with any share more."""
    small = GPUS["h100"]
    held = [
        max(
            limits.max_seqs
            for limits in _rank(LLAMA_8B, replace(small, memory_torch_gib=79.19 * factor)).candidates(8192, 4096)
        )
        for factor in (1, 1.1, 1.5, 2, 3, 4)
    ]
    assert held == sorted(held)


def test_every_board_with_gpus_can_be_planned() -> None:
    """No board lacks a figure that sizing needs."""
    for board in (name for name, board in BOARDS.items() if board.gpu):
        assert _memory(LLAMA_8B, board).kv_pool > 0


def test_an_eager_engine_is_planned_without_graphs() -> None:
    """The stack's screen charged them, that of one model did not."""
    plan = model_of({"models/chat/engine_args": ["--enforce-eager"]})
    assert plan.memory.graphs == 0
    assert single_of(plan).memory == plan.memory


@pytest.mark.parametrize(
    ("arg", "flag"),
    [
        ("--speculative-config.method=ngram", "--speculative-config"),
        ("--enable-lora", "--enable-lora"),
        ("--block_size=32", "--block-size"),
    ],
)
def test_an_argument_that_no_plan_counts_is_named(arg: str, flag: str) -> None:
    """Its memory was planned as if it were not there, without a word."""
    (note,) = (said for said in plan_of({"models/chat/engine_args": [arg]}).notes if "planned without" in said)
    assert f"planned without {flag};" in note
