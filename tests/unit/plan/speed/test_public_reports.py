"""Public reports of planners that were wrong about speed: each becomes a case that ours has to get right."""

from __future__ import annotations

import pytest

from infra.errors import ConfigError
from infra.plan.layout import Layout
from infra.plan.speed import Load
from tests.unit.plan.speed.machines import DENSE, MIXTURE, PLACES, speed

USUAL = Load(1024, 1024, 16)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_aiconfigurator_1205_every_prediction_carries_its_error_and_what_it_rests_on(
    place: tuple[str, Layout, str],
) -> None:
    """aiconfigurator#1205, #1148, #1150, #1254: errors of 45 % came without a word of warning."""
    found = speed(place, USUAL)
    assert found.ttft_band.low < 1 < found.ttft_band.high
    assert found.band.low < 1 < found.band.high
    assert "rows of vllm on h200" in found.basis


@pytest.mark.parametrize(("gpu", "engine", "place", "load", "what"), [
    ("a100", "vllm", (DENSE, Layout(4), "bf16"), USUAL, "vllm on a100"),
    ("h200", "tgi", (DENSE, Layout(4), "fp8"), USUAL, "tgi on h200"),
    ("h200", "vllm", (DENSE, Layout(4), "awq"), USUAL, "format awq"),
    ("h200", "vllm", (DENSE, Layout(4), "fp8"), Load(9000, 512, 64), "prompt 9000"),
    ("h200", "vllm", (DENSE, Layout(4), "fp8"), Load(1024, 20, 64), "output 20"),
    ("h200", "vllm", (DENSE, Layout(4), "fp8"), Load(1024, 1024, 900), "concurrency 900"),
    ("h200", "vllm", (DENSE, Layout(2, 2), "fp8"), USUAL, "pipeline parallel 2"),
    ("gb200", "trtllm", (DENSE, Layout(16), "fp8"), USUAL, "tensor parallel 16"),
], ids=lambda value: value if isinstance(value, str) else "")  # fmt: skip
def test_aiconfigurator_1148_what_was_not_measured_is_labelled(
    gpu: str, engine: str, place: tuple[str, Layout, str], load: Load, what: str
) -> None:
    """The reports' own inputs, A100 with vLLM and prompts of 9k, and others of the kind, count as extrapolation."""
    inside, outside = speed((DENSE, Layout(4), "fp8"), USUAL), speed(place, load, gpu, engine)
    assert what in outside.extrapolated
    assert outside.band.low <= inside.band.low < inside.band.high <= outside.band.high


def test_aiconfigurator_1254_what_was_measured_is_not_labelled() -> None:
    """A label that stands on everything warns of nothing."""
    assert not speed((MIXTURE, Layout(2), "mxfp4"), USUAL, "b200", "trtllm").extrapolated


@pytest.mark.parametrize(("form", "gpu", "why"), [
    ("w4a8-fp8", "b200", "no kernel above compute capability 9.0"),
    ("w8a8-int8", "rtx-pro-6000", "no kernel above compute capability 9.0"),
    ("w8a8-int8", "b300", "b300"),
], ids=["vllm#35439: W4A8 on B200", "vllm#27182: INT8 on 12.0", "INT8 on B300"])  # fmt: skip
def test_vllm_35439_a_format_without_kernels_has_no_speed(form: str, gpu: str, why: str) -> None:
    """A number for what does not run would be a promise; the message names a format that does."""
    with pytest.raises(ConfigError, match=why) as refused:
        speed((DENSE, Layout(4), form), USUAL, gpu)
    assert "choose another one, such as" in str(refused.value)


@pytest.mark.parametrize(("gpu", "layout", "is_warned"), [
    ("b300", Layout(8), True), ("gb300", Layout(4), True), ("b300", Layout(1), False), ("b200", Layout(8), False),
], ids=["B300", "GB300", "one B300", "B200"])  # fmt: skip
def test_vllm_30630_ranks_on_capability_10_3_come_with_a_warning(gpu: str, layout: Layout, is_warned: bool) -> None:
    """vllm#30630: a gate of the fast collective lacked 10.3, and B300 was no faster than H200."""
    notes = speed((DENSE, layout, "fp8"), USUAL, gpu).notes
    assert any("10.3" in note and "vllm#30630" in note for note in notes) == is_warned
