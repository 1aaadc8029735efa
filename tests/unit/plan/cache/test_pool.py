"""What the pool promises, on models small enough to reckon by hand."""

from __future__ import annotations

import pytest

from infra.catalog.architecture import Architecture, Cache
from infra.errors import ConfigError, Unknown
from infra.plan.layout import Layout
from tests.unit.plan.cache.shapes import CHUNK, DELTA, ENCODER, FULL, GIB, INDEX, LATENT, WINDOW, divide, model

DENSE = model(*[FULL] * 32)
MLA = model(*[LATENT] * 61)


def test_blocks_weigh_all_layers_and_the_rest_is_lost() -> None:
    """32 layers of 8 heads at 2 x 128 bfloat16 values weigh 128 KiB a token, 2 MiB a block of 16."""
    made = divide(DENSE, pool_bytes=2 * 2**20 * 100 + 2**20)
    assert (made.blocks, made.block_tokens, made.bytes_per_block, made.bytes_per_token) == (100, 16, 2**21, 2**17)


@pytest.mark.parametrize(("ranks", "expected"), [(1, 131072), (2, 65536), (8, 16384), (16, 16384)])
def test_heads_are_dealt_to_ranks_and_then_copied(ranks: int, expected: int) -> None:
    """Eight key/value heads on eight ranks are one each, and so they are on sixteen."""
    assert divide(DENSE, Layout(ranks)).bytes_per_token == expected


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_mla_keeps_the_same_on_every_rank(ranks: int) -> None:
    """61 layers of 576 bfloat16 values weigh 70,272 bytes a token however many ranks share them."""
    assert divide(MLA, Layout(ranks)).bytes_per_token == 70272


@pytest.mark.parametrize(
    ("kv_dtype", "architecture", "expected"),
    [
        ("auto", DENSE, 131072),
        ("fp8", DENSE, 65536),
        ("fp8_e5m2", DENSE, 65536),
        ("nvfp4", DENSE, 36864),
        ("fp8_per_token_head", DENSE, 32 * 8 * (256 + 8)),
        ("int4_per_token_head", DENSE, 32 * 8 * (128 + 8)),
        ("fp8", MLA, 61 * 576),
        ("fp8_ds_mla", MLA, 61 * 656),
        ("nvfp4_ds_mla", MLA, 61 * 352),
        ("auto", model(*[(LATENT, INDEX)] * 61), 61 * (1152 + 132)),
        ("fp8", model(*[(LATENT, INDEX)] * 61), 61 * (656 + 132)),
        ("auto", model(*[FULL] * 32, dtype="float32"), 262144),
    ],
)
def test_a_format_decides_what_a_token_weighs(kv_dtype: str, architecture: Architecture, expected: int) -> None:
    """Packed formats bring their scales with them, and an indexer's keys stay a byte a value."""
    assert divide(architecture, kv_dtype=kv_dtype).bytes_per_token == expected


@pytest.mark.parametrize(
    ("architecture", "length", "expected"),
    [
        (DENSE, 4001, 251),
        # One batch more than there are stages is on its way: 2 x 8,192 tokens beside the window, and a block more.
        (model(*[WINDOW] * 32), 32768, -(-(1023 + 2 * 8192) // 16) + 1),
        (model(*[WINDOW] * 32), 100, 7 + 1),
        (model(*[WINDOW, FULL] * 16), 32768, 2048 + 1089),
        (model(*[CHUNK, CHUNK, FULL] * 8), 32768, 2048 + 2 * 1536),
        (model(*[ENCODER, FULL] * 8), 448, 94 + 28),
    ],
    ids=["full", "window", "window-longer-than-the-request", "window-and-full", "chunk-and-full", "encoder"],
)
def test_a_request_takes_blocks_by_kind_of_layer(architecture: Architecture, length: int, expected: int) -> None:
    """Full attention grows for ever, a window stops growing, and each group draws blocks of its own."""
    assert divide(architecture).blocks_per_request(length) == expected


@pytest.mark.parametrize(
    ("settings", "states"),
    [
        ({}, 2),
        ({"prefix_caching": False}, 1),
        ({"speculative_tokens": 3}, 5),
        ({"version": (0, 14)}, 1),
        ({"version": (0, 14), "speculative_tokens": 3}, 1),
    ],
)
def test_recurrent_layers_keep_states_by_setting_and_version(settings: dict[str, object], states: int) -> None:
    """One state, one more to start again from, and one for each token drafted."""
    hybrid = model(*[DELTA, DELTA, DELTA, FULL] * 4)
    made = divide(hybrid, **settings)
    assert made.blocks_per_request(1) == 1 + 3 * states


def test_attention_blocks_grow_until_they_hold_a_state() -> None:
    """2,146,304 bytes of state are 524 tokens of 4 KiB, so blocks have 528, the next multiple of 16."""
    assert divide(model(*[DELTA, DELTA, DELTA, FULL] * 4)).block_tokens == 528


def test_the_drafter_keeps_keys_only_when_it_drafts() -> None:
    """One drafting layer beside 32 takes a 33rd of the blocks."""
    drafting = model(*[FULL] * 32, drafter=(FULL,))
    assert [divide(drafting, speculative_tokens=n).bytes_per_token for n in (0, 1)] == [131072, 33 * 4096]


def test_the_stage_with_most_layers_decides() -> None:
    """Seven layers in two stages are 4 and 3 with the last one smaller; with less memory there, that one decides."""
    seven = model(*[FULL] * 7)
    even, short_end = (divide(seven, Layout(1, 2), pool_bytes=budgets).blocks for budgets in (GIB, (GIB, GIB // 2)))
    assert (even, short_end) == (GIB // (4 * 65536), GIB // 2 // (3 * 65536))


def test_data_parallel_ranks_have_a_pool_each() -> None:
    """More ranks that share experts do not change what one of them keeps."""
    assert divide(DENSE, Layout(2, 1, 4, True)) == divide(DENSE, Layout(2))


def test_the_longest_request_leaves_the_null_block_alone() -> None:
    """Of 100 blocks of 16 tokens one is the engine's own, so 99 x 16 tokens fit and not one more."""
    made = divide(DENSE, pool_bytes=100 * 2**21)
    assert (made.longest(1 << 20), made.requests(1584), made.requests(1585)) == (1584, 1, 0)


def test_no_more_requests_run_than_a_batch_has_room_for() -> None:
    """A pool for thousands of short requests still runs ``max_seqs`` of them."""
    assert divide(DENSE, max_seqs=8).requests(16) == 8


def test_a_pool_below_nothing_holds_nothing() -> None:
    """A model that does not fit leaves less than zero bytes, and promises nothing."""
    made = divide(DENSE, pool_bytes=-GIB)
    assert (made.blocks, made.tokens, made.longest(4096), made.requests(1)) == (0, 0, 0, 0)


@pytest.mark.parametrize("architecture", [model(*[WINDOW, FULL] * 8), model(*[DELTA, DELTA, FULL] * 4)])
def test_no_single_figure_for_a_token_where_layers_differ(architecture: Architecture) -> None:
    """Dividing the pool by logged tokens gave 7 and 56 bytes for one model (vllm#51041); we give none."""
    assert divide(architecture).bytes_per_token is None


def test_entries_shared_by_tokens_cannot_be_told() -> None:
    """DeepSeek-V4's compressed entries are packed in pages of several sizes, which we do not guess."""
    packed = model(Cache("latent", 1, 512, compress=4))
    with pytest.raises(Unknown, match="one entry for 4 tokens"):
        divide(packed)


def test_a_model_that_keeps_nothing_needs_no_pool() -> None:
    """An encoder is told so instead of being given a pool of nothing."""
    with pytest.raises(ConfigError, match="keeps nothing"):
        divide(model(()))


def test_an_unknown_format_cannot_be_told() -> None:
    """A cache format without a known layout is named, with those that are known."""
    with pytest.raises(Unknown, match=r"'int3'.*nvfp4"):
        divide(DENSE, kv_dtype="int3")


def test_ranks_that_split_a_state_unevenly_are_refused() -> None:
    """Three ranks do not divide a state of 2**19 values."""
    with pytest.raises(ConfigError, match="3 ranks"):
        divide(model(*[DELTA, FULL] * 4), Layout(3))
