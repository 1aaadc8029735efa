"""GPUs of the catalog, by what a plan reads of them."""

from __future__ import annotations

import pytest

from infra.catalog.gpus import GPUS, Gpu

rows = pytest.mark.parametrize("gpu", GPUS.values(), ids=lambda gpu: gpu.name)


@rows
def test_narrower_types_are_never_slower_but_int8(gpu: Gpu) -> None:
    """Only INT8 was given up on some GPUs; a swapped column would show here."""
    peaks = [gpu.peaks.bf16_tflops, gpu.peaks.fp8_tflops, gpu.peaks.fp4_tflops]
    found = [peak for peak in peaks if peak is not None]
    assert found == sorted(found)


@rows
def test_a_measured_bandwidth_is_below_its_peak(gpu: Gpu) -> None:
    """A triad reaches 0.8 to 0.95 of it."""
    if gpu.hbm_measured_gb_s is not None:
        assert 0.8 < gpu.hbm_measured_gb_s / gpu.hbm_gb_s < 0.95
    assert gpu.hbm_gb_s > gpu.pcie_gb_s


@rows
def test_a_gpu_without_nvlink_is_a_domain_of_its_own(gpu: Gpu) -> None:
    """And none has a link that leads nowhere."""
    assert (gpu.nvlink_gb_s > 0) is (gpu.nvlink_domain > 1)


@pytest.mark.parametrize(("name", "slow"), [("b300", True), ("gb300", True), ("b200", False), ("h100", False)])
def test_int8_is_slower_than_bf16_where_it_was_given_up(name: str, slow: bool) -> None:
    """B300 has 1/29 of a B200's INT8."""
    peaks = GPUS[name].peaks
    assert (peaks.int8_tops < peaks.bf16_tflops) is slow
