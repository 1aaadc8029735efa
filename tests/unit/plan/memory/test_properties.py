"""What must hold of memory for any checkpoint of the catalogue, any layout, engine and setting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from infra.catalog.architecture import Architecture
from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.engines import ENGINES, Engine
from infra.catalog.gpus import GPUS
from infra.catalog.quantisations import QUANTISATIONS
from infra.errors import ConfigError, Unknown
from infra.plan.layout import Layout, problems
from infra.plan.memory import Memory, Options, size
from infra.plan.memory.weights import stage_weights

hypothesis = pytest.importorskip("hypothesis", reason="the properties need hypothesis")
st = hypothesis.strategies


def _known() -> list[str]:
    """Checkpoints whose config can be read."""
    names = []
    for name in CHECKPOINTS:
        try:
            names += [name] if CHECKPOINTS[name].layers else []
        except Unknown:
            continue
    return names


MODELS = st.sampled_from(_known()).map(CHECKPOINTS.__getitem__)
LAYOUTS = st.builds(
    Layout, tensor=st.sampled_from([1, 2, 4, 8]), pipeline=st.sampled_from([1, 2]), expert_parallel=st.booleans()
)
LINES = st.sampled_from([line for lines in ENGINES.values() for line in lines])
GIBS = st.floats(16, 512, allow_nan=False)
LENGTHS = st.integers(2, 2**18)
SETTINGS = st.fixed_dictionaries({
    "utilisation": st.floats(0.5, 1),
    "max_seqs": st.integers(1, 1024),
    "batched_tokens": st.integers(1024, 16384),
    "kv_dtype": st.sampled_from(["auto", "fp8"]),
    "eager": st.booleans(),
})  # fmt: skip

steady = hypothesis.settings(deadline=None, derandomize=True, max_examples=60)
"""The same examples in every run, however busy the machine is."""


def _sized(model: Architecture, layout: Layout, engine: Engine, gib: float, **options: Any) -> Memory:
    """One size on a GPU of some memory; an example that nobody would plan is none."""
    hypothesis.assume(not problems(model, layout, engine))
    gpu = replace(GPUS["h200"], memory_torch_gib=gib, memory_smi_mib=round(gib * 1024))
    try:
        return size(model, layout, gpu, engine, Options(**options))
    except (ConfigError, Unknown):
        hypothesis.reject()
        raise


@steady
@hypothesis.given(MODELS, LAYOUTS, LINES, SETTINGS, st.tuples(GIBS, GIBS).map(sorted), LENGTHS)
def test_more_memory_never_lowers_concurrency(
    model: Architecture, layout: Layout, engine: Engine, settings: dict[str, Any], gibs: list[float], length: int
) -> None:
    """With the same batch: the pool, its tokens, requests at once and the longest one stay or grow."""
    less, more = (_sized(model, layout, engine, gib, max_len=length, **settings) for gib in gibs)
    assert less.kv_pool <= more.kv_pool
    assert less.kv_tokens <= more.kv_tokens
    assert less.concurrency(length) <= more.concurrency(length)
    assert less.longest(length) <= more.longest(length)


@steady
@hypothesis.given(MODELS, LAYOUTS, LINES, SETTINGS, GIBS, st.tuples(LENGTHS, LENGTHS).map(sorted))
def test_more_context_never_raises_concurrency(
    model: Architecture, layout: Layout, engine: Engine, settings: dict[str, Any], gib: float, lengths: list[int]
) -> None:
    """Whether the longer one is a request's length or the limit that the engine is given."""
    memory = _sized(model, layout, engine, gib, max_len=lengths[1], **settings)
    shorter, longer = (memory.concurrency(length) for length in lengths)
    assert longer <= shorter
    admitted = [
        _sized(model, layout, engine, gib, max_len=length, **settings).concurrency(length) for length in lengths
    ]
    assert admitted[1] <= admitted[0]


@steady
@hypothesis.given(MODELS, LAYOUTS, st.sampled_from(sorted(QUANTISATIONS)), st.booleans())
def test_twice_the_ranks_never_weigh_more(model: Architecture, layout: Layout, form: str, drafts: bool) -> None:
    """In every format, stage and deal of experts, with and without the layers that draft."""
    hypothesis.assume(layout.pipeline <= len(model.layers))
    once, twice = (
        max(stage_weights(model, replace(layout, tensor=layout.tensor * by), QUANTISATIONS[form], drafter=drafts))
        for by in (1, 2)
    )
    assert twice <= once


@steady
@hypothesis.given(MODELS, LAYOUTS, LINES, SETTINGS, GIBS, LENGTHS)
def test_the_same_input_gives_the_same_plan(
    model: Architecture, layout: Layout, engine: Engine, settings: dict[str, Any], gib: float, length: int
) -> None:
    """Nothing is drawn and nothing is remembered."""
    once, again = (_sized(model, layout, engine, gib, max_len=length, **settings) for _ in range(2))
    assert once == again
