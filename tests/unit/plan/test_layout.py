"""Layouts: what a model can be dealt to, and why not."""

from __future__ import annotations

import pytest

from infra.catalog.checkpoints import checkpoint
from infra.catalog.engines import ENGINES, VLLM, Engine, engine_for
from infra.plan.layout import Layout, legal_tensor, problems

REFUSED = [
    ("Qwen/Qwen2.5-7B-Instruct", Layout(8), "", "28 attention heads"),
    ("meta-llama/Llama-4-Scout-17B-16E-Instruct", Layout(16), "", "40 attention heads"),
    ("microsoft/phi-4", Layout(4), "", "10 key/value heads"),
    ("Qwen/Qwen3.5-35B-A3B", Layout(8), "fp8-block", "64 outputs"),
    ("google/gemma-4-26B-A4B", Layout(2), "awq", "1056 inputs"),
    ("meta-llama/Llama-3.1-8B-Instruct", Layout(2, expert_parallel=True), "", "has no experts"),
    ("meta-llama/Llama-3.1-8B-Instruct", Layout(1, 64), "", "32 layers"),
    ("Qwen/Qwen3-30B-A3B", Layout(4, data=64, expert_parallel=True), "", "128 experts"),
]
ALLOWED = [
    ("nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4", Layout(8), ""),
    ("google/gemma-4-26B-A4B", Layout(2), "w4a16-g32"),
    ("Qwen/Qwen3-30B-A3B", Layout(4), "awq"),
    ("Qwen/Qwen3-235B-A22B", Layout(8, expert_parallel=True), "fp8-block"),
    ("Qwen/Qwen3-235B-A22B", Layout(8), ""),
    ("deepseek-ai/DeepSeek-V3", Layout(8), "fp8-block"),
    ("openai/gpt-oss-120b", Layout(8), ""),
    ("microsoft/phi-4", Layout(5), ""),
]


@pytest.mark.parametrize(("name", "layout", "form", "found"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_cannot_be_dealt_is_refused_with_the_reason(name: str, layout: Layout, form: str, found: str) -> None:
    """Each is a start that failed: vllm#52915 and the engine's own checks."""
    assert any(found in problem for problem in problems(checkpoint(name), layout, VLLM[0], form))


@pytest.mark.parametrize(("name", "layout", "form"), ALLOWED, ids=lambda value: str(value)[:40])
def test_what_runs_elsewhere_is_not_refused(name: str, layout: Layout, form: str) -> None:
    """Layouts that are in public use."""
    assert problems(checkpoint(name), layout, VLLM[0], form) == ()


REPORTS = {
    "vllm#17569": ("vllm", (0, 10), "Qwen/Qwen3-235B-A22B-FP8", Layout(8), "192 outputs"),
    "vllm#25292": ("vllm", (0, 10), "Qwen/Qwen3-30B-A3B-FP8", Layout(4), "192 outputs"),
    "vllm#39046": ("vllm", (0, 19), "MiniMaxAI/MiniMax-M2.5", Layout(8), "192 outputs"),
    "vllm#48173": ("vllm", (0, 26), "MiniMaxAI/MiniMax-M2.7", Layout(8), "192 outputs"),
    "vllm#52915, shared expert": ("vllm", (0, 32), "Qwen/Qwen3.5-35B-A3B", Layout(8), "64 outputs"),
    "sglang#3345": ("sglang", (0, 5), "deepseek-ai/DeepSeek-R1", Layout(32), "576 outputs"),
    "ktransformers#2036, on sglang": ("sglang", (0, 5), "MiniMaxAI/MiniMax-M2.7", Layout(8), "192 outputs"),
    "TensorRT-LLM#14613": ("trtllm", (1, 2), "MiniMaxAI/MiniMax-M2.5", Layout(8), "192 outputs"),
}
"""Starts that failed: report → engine, version, checkpoint, layout, words of the reason. Versions before the oldest
rules take those."""

RAN = {
    "InferenceX, MiniMax-M2.5 on h200": ("vllm", (0, 18), "MiniMaxAI/MiniMax-M2.5", Layout(8, expert_parallel=True)),
    "InferenceX, MiniMax-M2.5 on b200": ("vllm", (0, 19), "MiniMaxAI/MiniMax-M2.5", Layout(4)),
    "InferenceX, Qwen3.5 on h200": ("sglang", (0, 5), "Qwen/Qwen3.5-397B-A17B", Layout(8, expert_parallel=True)),
    "InferenceX, Qwen3.5 on b200": ("sglang", (0, 5), "Qwen/Qwen3.5-397B-A17B", Layout(8)),
    "refine_fp8_moe_block_shape": ("vllm", (0, 29), "MiniMaxAI/MiniMax-M2.5", Layout(8)),
    "DeepSeek-R1 on eight": ("sglang", (0, 5), "deepseek-ai/DeepSeek-R1", Layout(8)),
}
"""Starts that went well, or that the engine's source lets through."""


def _rules(engine: str, version: tuple[int, int]) -> Engine:
    return engine_for(engine, version) or ENGINES[engine][-1]


@pytest.mark.parametrize("report", REPORTS)
def test_tiles_that_ranks_would_share_are_refused_as_reported(report: str) -> None:
    """Experts before vLLM 0.29 and in all other engines; dense layers and shared experts everywhere."""
    engine, version, name, layout, found = REPORTS[report]
    assert any(found in problem for problem in problems(checkpoint(name), layout, _rules(engine, version), "fp8-block"))


@pytest.mark.parametrize("run", RAN)
def test_tiles_that_ranks_share_out_whole_are_not_refused(run: str) -> None:
    """Whole experts have whole tiles, newer vLLM cuts those of experts, and gates smaller than a tile have none."""
    engine, version, name, layout = RAN[run]
    assert problems(checkpoint(name), layout, _rules(engine, version), "fp8-block") == ()


def test_every_reason_is_told_at_once() -> None:
    """Whoever fixes one thing does not want to be sent back for the next."""
    found = problems(checkpoint("meta-llama/Llama-3.1-8B-Instruct"), Layout(3, 64, expert_parallel=True), VLLM[0])
    words = ("layers", "attention", "key/value", "experts")
    assert [next(word for word in words if word in line) for line in found] == list(words)


@pytest.mark.parametrize(
    ("layers", "stages", "counts"),
    [(61, 4, (15, 15, 16, 15)), (61, 8, (7, 7, 8, 8, 8, 8, 8, 7)), (32, 4, (8,) * 4), (36, 1, (36,)), (5, 2, (3, 2))],
    ids=str,
)
def test_layers_that_are_over_go_to_the_stages_before_the_last(
    layers: int, stages: int, counts: tuple[int, ...]
) -> None:
    """The last one holds the head. Source: vllm 0.32.0 distributed/utils.py."""
    assert Layout(1, stages).stages(layers) == counts


def test_widths_that_a_format_allows_are_listed() -> None:
    """192 is no multiple of 128: four ranks are too many for a mixture with 768 wide experts, until tiles are cut."""
    moe, older = checkpoint("Qwen/Qwen3-30B-A3B"), _rules("vllm", (0, 28))
    assert legal_tensor(moe, 8, older) == [1, 2, 4, 8]
    assert legal_tensor(moe, 8, older, "fp8-block") == [1, 2]
    assert legal_tensor(moe, 8, VLLM[0], "fp8-block") == [1, 2, 4, 8]
