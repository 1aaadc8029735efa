"""A replica that nobody can run is not said to hold, whatever its memory says."""

from __future__ import annotations

from typing import Any

import pytest

from infra.catalog.checkpoints import checkpoint
from infra.catalog.engines import VLLM
from infra.catalog.gpus import GPUS
from infra.errors import Unknown
from infra.plan.layout import Layout
from infra.plan.memory import Options
from infra.plan.outlook import Asked, Outlook, outlook
from infra.plan.single import Single


def _outlook(
    gpu: str = "h100", layout: Layout | None = None, *, name: str = "Qwen/Qwen3-8B", **options: Any
) -> Outlook:
    single = Single(name, checkpoint(name), layout or Layout(), GPUS[gpu], VLLM[0], "0.32.0", Options(**options))
    return outlook(single, Asked(), None)


@pytest.mark.parametrize(
    ("gpu", "options", "said"),
    [
        ("b300", {"quantisation": "w8a8-int8"}, "'w8a8-int8' has no kernel above compute capability 9.0"),
        ("b200", {"quantisation": "w4a8-fp8"}, "'w4a8-fp8' has no kernel above compute capability 9.0"),
        ("rtx-pro-6000", {"quantisation": "w8a8-int8"}, "'w8a8-int8' has no kernel"),
        ("h100", {"kv_dtype": "nvfp4"}, "'nvfp4' as a cache needs compute capability 10.0"),
        ("h100", {"max_len": 1_000_000}, "the model was trained for 40,960; set it to that"),
        ("h100", {"max_seqs": 300, "batched_tokens": 200}, "300 requests in a batch of 200 tokens"),
    ],
    ids=["INT8 on B300", "W4A8 on B200", "INT8 on sm_120", "FP4 cache on Hopper", "context", "batch"],
)
def test_report_17_what_the_engine_refuses_does_not_hold(gpu: str, options: dict[str, Any], said: str) -> None:
    """A screen said that W4A8 holds on a B200, where all kernels refuse it (vllm#35439, #27182)."""
    assert any(said in problem for problem in _outlook(gpu, **options).problems)


def test_ranks_beyond_an_nvlink_domain_do_not_hold() -> None:
    """16 ranks on hosts of eight H100, while 16 GB200 are within one domain."""
    layout = Layout(16)
    near, far = (_outlook(gpu, layout, name="meta-llama/Llama-3.1-405B-Instruct").problems for gpu in ("gb200", "h100"))
    assert near == ()
    assert [problem.split(",")[0] for problem in far] == ["tensor parallel 16"]


def test_a_drafter_that_no_config_tells_of_cannot_be_told() -> None:
    """Its weights and its cache were counted as nothing."""
    with pytest.raises(Unknown, match="has no layers that draft"):
        _outlook(speculative_tokens=3)


@pytest.mark.parametrize("drafted", [1, 2, 4])
def test_report_10_a_drafter_of_the_checkpoint_takes_little(drafted: int) -> None:
    """Drafted tokens are among those of the batch, so the pool shrinks by the drafter alone (aiconfigurator#1228)."""
    name = "deepseek-ai/DeepSeek-V3"
    plain, drafting = (
        _outlook("b300", Layout(8), name=name, speculative_tokens=count).memory.kv_pool for count in (0, drafted)
    )
    assert 0.9 * plain < drafting < plain


def test_a_small_batch_has_no_more_requests_than_tokens() -> None:
    """Where nobody says how many requests a batch has."""
    single = _outlook(batched_tokens=100).single
    assert single.settings.seqs == 100
