"""Weights of one rank."""

from __future__ import annotations

import pytest

from infra.catalog.architecture import ROW
from infra.catalog.calibration import Log, logs
from infra.catalog.checkpoints import CHECKPOINTS, checkpoint
from infra.catalog.quantisations import QUANTISATIONS, quantisation
from infra.plan.layout import Layout, grouped
from infra.plan.memory.weights import stage_weights
from infra.units import GIB

LOGGED = [row for row in logs() if row.weights_gib and row.like in CHECKPOINTS and row.gpu == "h100"]


@pytest.mark.parametrize("row", LOGGED, ids=lambda row: f"{row.id} {row.model}")
def test_weights_are_within_one_percent_of_the_log(row: Log) -> None:
    """By rank and stage, in every format that logs show on an H100."""
    shapes = checkpoint(row.like)
    form = quantisation(row.quantisation or shapes.quantisation or "bf16")
    sizes = stage_weights(shapes, Layout(row.tensor, row.pipeline), form, drafter=False)
    assert abs(max(sizes) / GIB / (row.weights_gib or 1) - 1) < 0.01


@pytest.mark.parametrize("name", ["meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V3"])
@pytest.mark.parametrize("form", ["bf16", "fp8", "nvfp4"])
def test_twice_the_ranks_never_weigh_more(name: str, form: str) -> None:
    """What is dealt halves, what is copied stays."""
    sizes = [
        max(stage_weights(checkpoint(name), Layout(tensor), quantisation(form), drafter=False))
        for tensor in (1, 2, 4, 8, 16)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[1] >= 0.5 * sizes[0]


def test_whole_experts_weigh_as_much_as_slices_of_them() -> None:
    """Expert parallelism deals the same values another way."""
    moe = checkpoint("Qwen/Qwen3-30B-A3B")
    whole, slices = (
        stage_weights(moe, Layout(8, expert_parallel=expert), quantisation("bf16"), drafter=False)
        for expert in (True, False)
    )
    assert whole == slices


def test_data_ranks_share_experts_and_copy_the_rest() -> None:
    """Two data ranks of four weigh less than one of four, and more than one of eight."""
    moe, form = checkpoint("Qwen/Qwen3-30B-A3B"), quantisation("bf16")
    layouts = (Layout(4), Layout(4, data=2), Layout(8))
    four, both, eight = (stage_weights(moe, layout, form, drafter=False)[0] for layout in layouts)
    assert eight < both < four


@pytest.mark.parametrize("name", QUANTISATIONS)
def test_a_format_takes_no_more_than_it_replaces(name: str) -> None:
    """Scales included, and padding by kernels."""
    dense = checkpoint("openai/gpt-oss-20b")
    size = stage_weights(dense, Layout(), quantisation(name), drafter=False)[0]
    whole = stage_weights(dense, Layout(), quantisation("fp32"), drafter=False)[0]
    assert size <= whole


def test_scales_weigh_as_much_as_the_checkpoint_says() -> None:
    """Kimi-K2.5 has a scale for 32 values: 595 GB as published, and 548 GB when groups of 128 are taken."""
    kimi = checkpoint("moonshotai/Kimi-K2.5")
    (size,) = stage_weights(kimi, Layout(), quantisation(kimi.quantisation), drafter=False)
    assert abs(size / 595e9 - 1) < 0.01


@pytest.mark.parametrize(("group", "bits"), [(32, 4.5), (64, 4.25), (128, 4.125), (0, 4.125)])
def test_groups_are_those_of_the_checkpoint(group: int, bits: float) -> None:
    """Half as large, they have twice as many scales."""
    assert grouped(quantisation("w4a16"), group).bits_per_value == bits


def test_a_row_may_share_one_scale() -> None:
    """GPTQ writes it as a group of -1."""
    form = grouped(quantisation("w4a16"), ROW)
    assert (form.bits_per_value, form.row_bytes) == (4, 2)


@pytest.mark.parametrize("name", ["fp8", "fp8-block", "w8a8-int8"])
def test_rows_and_tiles_have_no_groups(name: str) -> None:
    """Whatever else a config says."""
    assert grouped(quantisation(name), 32) is quantisation(name)
