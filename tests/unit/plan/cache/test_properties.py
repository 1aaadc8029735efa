"""What must hold for any model, layout and setting."""

from __future__ import annotations

import pytest

from infra.catalog.architecture import Architecture
from infra.plan.layout import Layout
from tests.unit.plan.cache.shapes import CHUNK, DELTA, FULL, LATENT, WINDOW, divide, model

hypothesis = pytest.importorskip("hypothesis", reason="the properties need hypothesis")
st = hypothesis.strategies

MODELS = st.sampled_from([
    model(*[FULL] * 8), model(*[WINDOW] * 8), model(*[WINDOW] * 5, FULL), model(*[CHUNK, CHUNK, CHUNK, FULL] * 2),
    model(*[LATENT] * 8), model(*[DELTA, DELTA, DELTA, FULL] * 2, drafter=(FULL,)), model(*[DELTA] * 8),
])  # fmt: skip
LAYOUTS = st.builds(Layout, tensor=st.sampled_from([1, 2, 4, 8]), pipeline=st.sampled_from([1, 2]))
SETTINGS = st.fixed_dictionaries({
    "kv_dtype": st.sampled_from(["auto", "fp8"]),
    "prefix_caching": st.booleans(),
    "speculative_tokens": st.integers(0, 3),
    "batched_tokens": st.integers(1, 16384),
    "block_tokens": st.sampled_from([None, 16, 64, 128]),
    "version": st.tuples(st.just(0), st.integers(12, 32)),
})  # fmt: skip
BYTES = st.integers(0, 2**36)
LENGTHS = st.integers(1, 2**20)

steady = hypothesis.settings(deadline=None, derandomize=True)
"""The same examples in every run, however busy the machine is."""


@steady
@hypothesis.given(MODELS, LAYOUTS, SETTINGS, st.tuples(BYTES, BYTES).map(sorted), LENGTHS)
def test_more_memory_never_lowers_what_fits(
    architecture: Architecture, layout: Layout, settings: dict[str, object], budgets: list[int], length: int
) -> None:
    """Concurrency, tokens, whole requests and the longest one all stay or grow with the pool."""
    less, more = (divide(architecture, layout, pool_bytes=size, **settings) for size in budgets)
    assert less.concurrency(length) <= more.concurrency(length)
    assert (less.tokens <= more.tokens, less.requests(length) <= more.requests(length)) == (True, True)
    assert less.longest(length) <= more.longest(length)


@steady
@hypothesis.given(MODELS, LAYOUTS, SETTINGS, BYTES, st.tuples(LENGTHS, LENGTHS).map(sorted))
def test_more_context_never_raises_concurrency(
    architecture: Architecture, layout: Layout, settings: dict[str, object], size: int, lengths: list[int]
) -> None:
    """A longer request takes as many blocks or more."""
    made = divide(architecture, layout, pool_bytes=size, **settings)
    shorter, longer = (made.concurrency(length) for length in lengths)
    assert longer <= shorter


@steady
@hypothesis.given(MODELS, LAYOUTS, SETTINGS, BYTES, LENGTHS)
def test_the_longest_request_fits_and_one_token_more_does_not(
    architecture: Architecture, layout: Layout, settings: dict[str, object], size: int, length: int
) -> None:
    """The binary search ends where the blocks end."""
    made = divide(architecture, layout, pool_bytes=size, **settings)
    longest, free = made.longest(length), made.blocks - made.spare_blocks
    assert longest == 0 or made.blocks_per_request(longest) <= free
    assert longest == length or made.blocks_per_request(longest + 1) > free


@steady
@hypothesis.given(MODELS, LAYOUTS, SETTINGS, BYTES)
def test_the_pool_is_never_overdrawn(
    architecture: Architecture, layout: Layout, settings: dict[str, object], size: int
) -> None:
    """All blocks together weigh no more than the pool, and asking twice gives the same."""
    made = divide(architecture, layout, pool_bytes=size, **settings)
    assert made.blocks * made.bytes_per_block <= size
    assert made == divide(architecture, layout, pool_bytes=size, **settings)
