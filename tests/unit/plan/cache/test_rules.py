"""Rules change with vLLM's versions, and each change shows in what it would log."""

from __future__ import annotations

import pytest

from infra.catalog.architecture import Cache, State
from infra.catalog.engines import VLLM
from infra.errors import ConfigError, Unknown
from infra.plan.cache.rules import HISTORY, NEWEST, rules_for
from infra.plan.layout import Layout
from tests.unit.plan.cache.shapes import CHUNK, FULL, WINDOW, divide, model

Version = tuple[int, int]

WIDE = Cache("sliding", 16, 256, 256, window=1024)
NARROW = Cache("full", 4, 512, 512)
ODD = Cache("full", 3, 128, 128)
MIXER = Cache("state", states=(State(64 * 128 * 128, True),))


def test_versions_are_listed_newest_first() -> None:
    """A version takes the first row that is not newer than itself."""
    since = [rules.since for rules in HISTORY]
    assert since == sorted(since, reverse=True)


def test_the_newest_row_of_the_catalog_takes_the_newest_rules() -> None:
    """Without a version, what was last compared with vLLM itself holds."""
    assert rules_for(VLLM[0]) == rules_for(VLLM[0], NEWEST)


def test_an_older_row_of_the_catalog_takes_the_rules_before_the_next() -> None:
    """A row that ends where the next begins does not borrow the next one's rules."""
    older, newer = VLLM[1], VLLM[0]
    assert rules_for(older) == rules_for(older, (newer.since[0], newer.since[1] - 1))


def test_versions_older_than_any_that_was_read_cannot_be_told() -> None:
    """vLLM 0.9 is named, and the first known version too."""
    with pytest.raises(Unknown, match=r"vllm 0\.9 .*from 0\.10 on"):
        divide(model(FULL), version=(0, 9))


@pytest.mark.parametrize(("version", "blocks"), [((0, 25), 577), ((0, 26), 1089)])
def test_windows_reserve_for_batches_in_flight_since_026(version: Version, blocks: int) -> None:
    """Before, one batch of 8,192 tokens beside the window of 1,024; since, two of them."""
    assert divide(model(*[WINDOW] * 4), version=version).blocks_per_request(32768) == blocks


@pytest.mark.parametrize(("stages", "tokens"), [(1, 16384), (2, 24576)])
def test_each_stage_has_a_batch_in_flight(stages: int, tokens: int) -> None:
    """One batch for each stage and one that waits."""
    assert divide(model(*[WINDOW] * 4), Layout(1, stages)).in_flight == tokens


@pytest.mark.parametrize(("version", "groups"), [((0, 11), 3), ((0, 12), 2), ((0, 32), 2)])
def test_kinds_of_nearly_one_size_share_a_group_since_012(version: Version, groups: int) -> None:
    """12 layers with a window and 13 without are 12 + 12 + 1 at first, and 13 + 13 with a padded one since."""
    near = model(*[WINDOW, FULL] * 12, FULL)
    assert len(divide(near, version=version).groups) == groups


@pytest.mark.parametrize(("version", "groups"), [((0, 17), 3), ((0, 18), 2)])
def test_kinds_count_as_near_up_to_one_and_a_half_since_018(version: Version, groups: int) -> None:
    """10 and 14 layers are 1.4 apart, more than the 1.25 of the versions before."""
    assert len(divide(model(*[WINDOW, FULL] * 10, *[FULL] * 4), version=version).groups) == groups


@pytest.mark.parametrize(("version", "groups"), [((0, 13), 1), ((0, 14), 4)])
def test_chunks_are_freed_since_014(version: Version, groups: int) -> None:
    """Llama 4's chunks were kept whole until then."""
    assert len(divide(model(*[CHUNK, CHUNK, CHUNK, FULL] * 4), version=version).groups) == groups


def test_chunks_are_kept_whole_while_drafting() -> None:
    """vLLM cannot free them with a drafter."""
    drafting = model(*[CHUNK, FULL] * 4, drafter=(FULL,))
    assert len(divide(drafting, speculative_tokens=2).groups) == 1


def test_pages_of_several_sizes_are_refused_before_012() -> None:
    """Gemma 4's two page sizes fail at the start of vLLM 0.11, so the plan says it."""
    with pytest.raises(ConfigError, match=r"131072, 262144.*0\.12 or newer"):
        divide(model(*[WIDE] * 5, NARROW), version=(0, 11))


@pytest.mark.parametrize(("version", "tokens"), [((0, 23), None), ((0, 24), [16, 16])])
def test_pages_that_do_not_divide_are_padded_since_024(version: Version, tokens: list[int] | None) -> None:
    """Three heads do not divide eight: since 0.24 their page is padded, before we cannot tell."""
    odd = model(*[WINDOW, ODD] * 4)
    if tokens is None:
        with pytest.raises(Unknown, match="does not divide"):
            divide(odd, version=version)
    else:
        assert [part.block_tokens for part in divide(odd, version=version).groups] == tokens


@pytest.mark.parametrize(("version", "tokens"), [((0, 24), [128, 256]), ((0, 28), [64, 128]), ((0, 30), [128, 256])])
def test_windows_took_the_smallest_block_from_026_to_029(version: Version, tokens: list[int]) -> None:
    """With blocks of 128 asked for, Gemma 4's windows got 16 of their own, scaled to the others' page."""
    made = divide(model(*[WIDE] * 5, NARROW), version=version, block_tokens=128)
    assert sorted({part.block_tokens for part in made.groups}) == tokens


@pytest.mark.parametrize(
    ("version", "tokens"), [((0, 19), 1024 // 2 * 16), ((0, 20), int(1024 / (2048 + 577) * 32768))]
)
def test_logged_tokens_follow_from_concurrency_since_020(version: Version, tokens: int) -> None:
    """Before, 1,024 blocks were split evenly among two groups, whatever each group takes of a request."""
    made = divide(model(*[WINDOW, FULL] * 8), version=version, pool_bytes=1024 * 8 * 65536)
    assert made.tokens == tokens


@pytest.mark.parametrize(("version", "states"), [((0, 31), 2), ((0, 32), 3)])
def test_mamba2_keeps_a_checkpoint_of_the_prompt_since_032(version: Version, states: int) -> None:
    """Nemotron-H keeps one state more with prefix caching; gated delta nets do not."""
    made = divide(model(MIXER, FULL, family="NemotronHForCausalLM"), version=version)
    assert made.blocks_per_request(1) == 1 + states
