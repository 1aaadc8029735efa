"""Predicted speed agrees with published runs within its error, and says when nobody measured the like."""

from __future__ import annotations

import pytest

from infra.catalog.architecture import Architecture
from infra.catalog.checkpoints import checkpoint
from infra.catalog.engines import ENGINES
from infra.catalog.gpus import GPUS
from infra.catalog.quantisations import quantisation
from infra.errors import ConfigError, Unknown
from infra.plan.cache.formats import entry_bytes
from infra.plan.layout import Layout
from infra.plan.speed import Load, predict
from infra.plan.speed.costs import Model
from infra.plan.speed.prediction import costs_of
from infra.plan.speed.shares import Machine
from tests.unit.plan.speed.machines import DENSE, MIXTURE, PLACES, speed

LOAD = Load(922, 922, 16)


@pytest.mark.parametrize(("place", "gpu", "load", "ttft_s", "tpot_s"), [
    ((DENSE, Layout(4), "fp8"), "h200", LOAD, 0.1262, 0.01094),
    ((DENSE, Layout(8), "fp8"), "h100", Load(7373, 922, 64), 1.1503, 0.03448),
    ((DENSE, Layout(2), "nvfp4"), "b200", LOAD, 0.1338, 0.01067),
    ((MIXTURE, Layout(2), "mxfp4"), "h200", LOAD, 0.09306, 0.007885),
], ids=["70B on 4 H200", "70B on 8 H100, long prompts", "70B on 2 B200 in FP4", "gpt-oss-120b on 2 H200"])  # fmt: skip
def test_published_runs_lie_in_the_band(
    place: tuple[str, Layout, str], gpu: str, load: Load, ttft_s: float, tpot_s: float
) -> None:
    """Runs of vLLM in aiconfigurator's sample, with InferenceX's mean lengths, lie where the band says."""
    found = speed(place, load, gpu)
    assert not found.extrapolated
    assert found.ttft_band.low <= ttft_s / found.ttft_s <= found.ttft_band.high
    assert found.band.low <= tpot_s / found.tpot_s <= found.band.high


@pytest.mark.parametrize("load", [Load(512, 512, 1), Load(8000, 1000, 64), Load(100_000, 1000, 512)], ids=str)
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_capacity_is_not_promised_beyond_what_the_memory_delivers(place: tuple[str, Layout, str], load: Load) -> None:
    """No token comes faster than its weights, experts and cache can be read at the memory's peak."""
    name, layout, form = place
    machine = Machine(layout, GPUS["h200"], quantisation(form), "auto")
    _, step = costs_of(Model(checkpoint(name), machine), load)
    assert speed(place, load).tpot_s > step.weights + step.experts + step.cache > 0


@pytest.mark.parametrize(("place", "bound"), [
    ((DENSE, Layout(1), "fp8"), "memory"),
    ((DENSE, Layout(8), "fp8"), "links"),
], ids=["one GPU", "eight L40S over PCIe"])  # fmt: skip
def test_what_binds_is_named(place: tuple[str, Layout, str], bound: str) -> None:
    """One GPU waits for its memory; eight without NVLink wait for each other."""
    assert speed(place, Load(1024, 256, 64), "h200" if bound == "memory" else "l40s").bound == bound


def test_ranks_are_faster_and_stages_are_not() -> None:
    """Tensor parallel shortens a token; pipeline parallel only lets more of them run at once."""
    alone, ranks, stages = (speed((DENSE, layout, "fp8"), Load(1024, 512, 1)) for layout in (
        Layout(1), Layout(4), Layout(1, 4),
    ))  # fmt: skip
    assert ranks.tpot_s < alone.tpot_s <= stages.tpot_s


def test_a_token_of_a_mixture_reads_more_experts_in_a_larger_batch() -> None:
    """A batch of 64 costs a mixture far more than a batch of one, for dense weights are read once either way."""
    growth = {
        place[0]: speed(place, Load(16, 4096, 64)).tpot_s / speed(place, Load(16, 4096, 1)).tpot_s
        for place in ((DENSE, Layout(1), "fp8"), (MIXTURE, Layout(1), "mxfp4"))
    }
    assert growth[MIXTURE] > 1.5 * growth[DENSE]


def test_a_smaller_cache_format_shortens_long_contexts() -> None:
    """Half the bytes of each kept value make a token at long contexts faster, and leave the first one as it is."""
    shapes, engine = checkpoint(DENSE), ENGINES["vllm"][0]
    plain, small = (
        predict(shapes, Layout(8), GPUS["h200"], engine, "fp8", Load(100_000, 500, 32), kv_dtype=dtype)
        for dtype in ("auto", "fp8")
    )
    assert small.tpot_s < plain.tpot_s


@pytest.mark.parametrize("dtype", ["nvfp4", "fp8", "int4_per_token_head", "fp8_per_token_head"])
@pytest.mark.parametrize("name", [DENSE, MIXTURE])
def test_speed_reads_the_bytes_that_memory_holds(name: str, dtype: str) -> None:
    """A token's time grew by other bytes than the cache did: formats with scales were read at 16 bits."""
    model, load, layout = checkpoint(name), Load(8000, 100, 8), Layout(2)
    sizes, reads = zip(*(_held_and_read(model, layout, kind, load) for kind in ("auto", dtype)), strict=True)
    assert reads[1] / reads[0] == pytest.approx(sizes[1] / sizes[0])


def _held_and_read(model: Architecture, layout: Layout, dtype: str, load: Load) -> tuple[float, float]:
    """Bytes of a token in the first layer's cache, and seconds to read all caches at the peak."""
    _, step = costs_of(Model(model, Machine(layout, GPUS["b200"], quantisation("bf16"), dtype)), load)
    return entry_bytes(model, model.layers[0].caches[0], dtype, layout.tensor), step.cache


def test_a_cache_format_without_known_layout_has_no_speed() -> None:
    """It was taken for 16 bits."""
    with pytest.raises(Unknown, match="'fp6' — has no known layout"):
        predict(checkpoint(DENSE), Layout(8), GPUS["h200"], ENGINES["vllm"][0], "fp8", Load(9, 9, 1), kv_dtype="fp6")


@pytest.mark.parametrize("load", [Load(0, 1, 1), Load(1, 0, 1), Load(1, 1, 0)], ids=["prompt", "output", "concurrency"])
def test_a_load_of_nothing_is_refused(load: Load) -> None:
    """Zero tokens or requests have no speed; the message says which one it is."""
    field = {0: "concurrency"}.get(load.concurrency, "prompt" if load.prompt == 0 else "output")
    with pytest.raises(ConfigError, match=f"load: {field} 0 — must be at least 1"):
        speed((DENSE, Layout(4), "fp8"), load)
