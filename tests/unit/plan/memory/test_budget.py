"""How engines divide the memory of a rank."""

from __future__ import annotations

from math import ceil

import pytest

from infra.catalog.checkpoints import checkpoint
from infra.catalog.engines import ENGINES, LIGHTLLM, SGLANG, TGI, TRTLLM, VLLM, Engine
from infra.catalog.gpus import GPUS
from infra.plan.layout import Layout
from infra.plan.memory import Options, size, size_on_host
from infra.units import GIB

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
NEWEST = [rows[0] for rows in ENGINES.values()]
engines = pytest.mark.parametrize("engine", NEWEST, ids=lambda engine: engine.name)


@engines
def test_nothing_is_lost_or_counted_twice(engine: Engine) -> None:
    """What the engine counts and what stays free beside it make up the whole GPU."""
    memory = size(checkpoint(LLAMA), Layout(), GPUS["h100"], engine, Options(max_len=8_192))
    parts = memory.weights + memory.activation + memory.runtime + memory.graphs + memory.kv_pool
    assert abs(parts + memory.headroom - memory.total) <= GIB // 100


@engines
@pytest.mark.parametrize("gpu", ["l4", "a100", "h100", "h200", "b200", "b300"])
def test_more_memory_never_holds_fewer_requests(engine: Engine, gpu: str) -> None:
    """The same batch on every GPU: a B300 holds at least what any other does."""
    options = Options(max_len=8_192, max_seqs=256, batched_tokens=8_192)
    small, large = (size(checkpoint(LLAMA), Layout(), GPUS[name], engine, options) for name in (gpu, "b300"))
    assert small.concurrency(8_192) <= large.concurrency(8_192)


@engines
def test_a_longer_request_never_fits_more_often(engine: Engine) -> None:
    """Concurrency falls with length."""
    memory = size(checkpoint(LLAMA), Layout(), GPUS["h100"], engine, Options())
    found = [memory.concurrency(length) for length in (512, 4_096, 32_768, 131_072)]
    assert found == sorted(found, reverse=True)


def test_a_share_of_what_is_left_is_never_more_than_a_share_of_all() -> None:
    """TensorRT-LLM's 0.90 comes after load, so it leaves a smaller part of the GPU free than vLLM's 0.90."""
    options = Options(utilisation=0.90, max_len=8_192, max_seqs=256, batched_tokens=8_192)
    after, of_all = (
        size(checkpoint(LLAMA), Layout(), GPUS["h100"], engine, options) for engine in (TRTLLM[0], VLLM[0])
    )
    assert after.kv_pool > of_all.kv_pool
    assert after.headroom < of_all.headroom


@pytest.mark.parametrize("engine", [SGLANG[0], LIGHTLLM[0]], ids=lambda engine: engine.name)
def test_a_static_share_has_to_leave_room_for_a_batch(engine: Engine) -> None:
    """Weights and cache alone are in the share; what a batch needs beside it is not there at 0.99."""
    low, high = (
        size(checkpoint(LLAMA), Layout(), GPUS["h100"], engine, Options(utilisation=share, max_len=8_192))
        for share in (0.85, 0.99)
    )
    assert (low.starts, low.fits) == (True, True)
    assert (high.starts, high.fits) == (True, False)


def test_sglang_reserves_for_a_chunk_of_prefill() -> None:
    """8,192 tokens of 1.5 MiB, graphs and the rest leave it 0.83 of an 80 GB GPU."""
    memory = size(checkpoint(LLAMA), Layout(), GPUS["h100"], SGLANG[0], Options())
    assert round(memory.usable / memory.total, 2) == 0.83


def test_tgi_keeps_a_tenth_of_what_its_warm_up_leaves() -> None:
    """Before 3.0: 0.90 of the rest, whatever the model weighs."""
    memory = size(checkpoint(LLAMA), Layout(), GPUS["h100"], TGI[-1], Options(max_len=8_192))
    left = memory.total - memory.weights - memory.activation - memory.runtime
    assert memory.kv_pool == int(0.90 * left)


def test_a_new_tgi_keeps_a_tenth_of_the_gpu() -> None:
    """From 3.0 on (text-generation-inference#2808): the rest of 0.90, whatever the model weighs."""
    memory = size(checkpoint(LLAMA), Layout(), GPUS["h100"], TGI[0], Options(max_len=8_192))
    assert memory.kv_pool == ceil(0.90 * memory.total) - memory.weights - memory.activation - memory.runtime


@pytest.mark.parametrize(("tokens", "says"), [(None, True), (4_096, False)], ids=["not given", "given"])
def test_a_new_tgi_is_told_its_batch(tokens: int | None, says: bool) -> None:
    """Left alone it takes a prefill of 60,000 tokens on an H100, and the cache is smaller than planned."""
    memory = size(checkpoint(LLAMA), Layout(), GPUS["h100"], TGI[0], Options(max_len=8_192, batched_tokens=tokens))
    assert any("--max-batch-prefill-tokens=4096" in note for note in memory.notes) is says


def test_eager_mode_gives_the_graphs_back() -> None:
    """Without graphs the pool of a new vLLM grows by what they took."""
    graphs, eager = (
        size(checkpoint(LLAMA), Layout(), GPUS["h100"], VLLM[0], Options(eager=eager)) for eager in (False, True)
    )
    assert eager.graphs == 0
    assert eager.kv_pool - graphs.kv_pool == graphs.graphs


def test_a_model_larger_than_the_gpu_has_no_pool() -> None:
    """70 B in bf16 on one H100: nothing starts, nothing is promised."""
    memory = size(checkpoint("meta-llama/Llama-3.1-70B-Instruct"), Layout(), GPUS["h100"], VLLM[0], Options())
    assert memory.kv_pool < 0
    assert (memory.pool, memory.starts, memory.longest(131_072), memory.concurrency(1)) == (None, False, 0, 0.0)


def test_two_gpus_give_more_than_twice_the_context() -> None:
    """Qwen3-32B fills one H100; on two, what is left grows eightfold and more."""
    one, two = (
        size(checkpoint("Qwen/Qwen3-32B"), Layout(tensor), GPUS["h100"], VLLM[-1], Options(max_len=8_192))
        for tensor in (1, 2)
    )
    assert two.kv_tokens > 8 * one.kv_tokens


def test_the_tightest_stage_is_named() -> None:
    """The last one works on logits, so it has the least left."""
    memory = size(checkpoint(LLAMA), Layout(1, 4), GPUS["h100"], VLLM[0], Options())
    assert memory.rank == "every rank of stage 3"


def test_on_a_cpu_the_pool_is_what_the_spec_says() -> None:
    """Nothing is divided where there is no GPU memory."""
    memory = size_on_host(checkpoint("Qwen/Qwen3-0.6B"), Layout(), VLLM[0], Options(max_len=2_048), 2 * GIB)
    assert memory.kv_pool == 2 * GIB
    assert memory.starts


def test_the_same_input_gives_the_same_plan() -> None:
    """No clock, no order of a set, no state."""
    first, second = (size(checkpoint(LLAMA), Layout(2), GPUS["h100"], VLLM[0], Options()) for _ in range(2))
    assert first == second
