"""CUDA graphs: what an engine's own estimate takes off the pool."""

from __future__ import annotations

import pytest

from infra.catalog.checkpoints import checkpoint
from infra.catalog.engines import ENGINES, LAST_READ, VLLM, engine_for
from infra.catalog.gpus import GPUS
from infra.plan.engine_args import environment
from infra.plan.layout import Layout
from infra.plan.memory import Memory, Options, size
from infra.units import GIB
from tests.unit.plan.specs import model_of

MIXTURE, DENSE = "MiniMaxAI/MiniMax-M2.5", "meta-llama/Llama-3.3-70B-Instruct"
ESTIMATE = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"


def _size(name: str, layout: Layout, engine: int = 0, *, eager: bool = False) -> Memory:
    options = Options(max_len=8_192, max_seqs=256, eager=eager)
    return size(checkpoint(name), layout, GPUS["b200"], VLLM[engine], options)


@pytest.mark.parametrize("layout", [Layout(2), Layout(4), Layout(4, expert_parallel=True)], ids=["2", "4", "experts"])
def test_report_5_an_estimate_for_experts_takes_up_to_five_gib(layout: Layout) -> None:
    """0.80 acted as 0.758 of 119.6 GiB on two ranks (spark-vllm-docker#396); 1.85 GiB were planned."""
    memory = _size(MIXTURE, layout)
    assert memory.graphs == 5 * GIB
    assert any("check the start-up log" in note for note in memory.notes)


@pytest.mark.parametrize(
    ("name", "layout", "engine", "eager"),
    [
        (DENSE, Layout(2), 0, False),
        ("openai/gpt-oss-20b", Layout(1), 0, False),
        (MIXTURE, Layout(4), -1, False),
        (MIXTURE, Layout(4), 0, True),
    ],
    ids=["dense", "one rank", "older engine", "eager"],
)
def test_others_are_counted_as_before(name: str, layout: Layout, engine: int, eager: bool) -> None:
    """Logs of dense models and single ranks stay below 1.85 GiB; an older engine estimates nothing."""
    memory = _size(name, layout, engine, eager=eager)
    assert memory.graphs < 2 * GIB
    assert not any("CUDA graphs" in note for note in memory.notes)


def test_an_estimate_beyond_the_gpu_is_turned_off() -> None:
    """119 GiB for experts over data-parallel ranks (vllm#53013): graphs then come out of what stays free."""
    layout = Layout(1, data=8, expert_parallel=True)
    with_graphs, without = (_size(MIXTURE, layout, eager=eager) for eager in (False, True))
    assert with_graphs.kv_pool == without.kv_pool
    assert without.headroom - with_graphs.headroom == 5 * GIB
    assert any(f"{ESTIMATE}=0" in note for note in with_graphs.notes)


@pytest.mark.parametrize(("data", "said"), [(8, "0"), (1, None)])
def test_pods_turn_it_off_where_the_plan_says_so(data: int, said: str | None) -> None:
    """So that what runs is what was planned."""
    plan = model_of(
        {
            "pools/gpus/board": "hgx-b200",
            "models/chat/architecture": MIXTURE,
            "models/chat/tensor_parallel": 8 // data,
            "models/chat/data_parallel": data,
            "models/chat/expert_parallel": True,
        }
    )
    assert environment(plan).get(ESTIMATE) == said


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("later", "notes"), [((0, 0), 0), ((0, 1), 1), ((1, 0), 1)], ids=["read", "minor", "major"])
def test_a_version_that_nobody_has_read_is_named(engine: str, later: tuple[int, int], notes: int) -> None:
    """vLLM 0.99 was planned by the rules of 0.32 without a word, SGLang 0.6 by those of 0.5."""
    version = (LAST_READ[engine][0] + later[0], LAST_READ[engine][1] + later[1])
    memory = size(checkpoint(DENSE), Layout(8), GPUS["b200"], ENGINES[engine][0], Options(version=version))
    told = [note for note in memory.notes if "the last one read" in note]
    assert len(told) == notes
    assert all(f"{engine} {version[0]}.{version[1]} is planned by the rules of" in note for note in told)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_version_older_than_all_rules_has_none(engine: str) -> None:
    """It is not planned by the oldest ones."""
    major, minor = ENGINES[engine][-1].since
    assert engine_for(engine, (major, minor)) is ENGINES[engine][-1]
    assert engine_for(engine, (major, minor - 1) if minor else (major - 1, 99)) is None
