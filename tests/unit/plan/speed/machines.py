"""Models and places that tests of speed share."""

from __future__ import annotations

from infra.catalog.checkpoints import checkpoint
from infra.catalog.engines import ENGINES
from infra.catalog.gpus import GPUS
from infra.plan.layout import Layout
from infra.plan.speed import Load, Speed, predict

DENSE, MIXTURE = "meta-llama/Meta-Llama-3.1-70B", "openai/gpt-oss-120b"

PLACES = [
    (DENSE, Layout(1), "fp8"),
    (DENSE, Layout(8), "bf16"),
    (DENSE, Layout(2, 4), "fp8"),
    (MIXTURE, Layout(1), "mxfp4"),
    ("Qwen/Qwen3-235B-A22B", Layout(4, 1, 2, expert_parallel=True), "fp8"),
    ("Qwen/Qwen3.5-397B-A17B", Layout(8), "fp8-block"),
    ("deepseek-ai/DeepSeek-V3.2", Layout(8), "fp8-block"),
]
"""Dense and mixtures, GQA, MLA with an indexer, recurrent and sliding layers, all kinds of parallel."""


def speed(place: tuple[str, Layout, str], load: Load, gpu: str = "h200", engine: str = "vllm") -> Speed:
    """Predict one of the places on a GPU."""
    name, layout, form = place
    return predict(checkpoint(name), layout, GPUS[gpu], ENGINES[engine][0], form, load)
