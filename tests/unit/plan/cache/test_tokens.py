"""Pools of the engines that count tokens."""

from __future__ import annotations

import pytest

from infra.catalog.engines import LIGHTLLM, SGLANG, TGI, TRTLLM, Engine
from infra.plan.layout import Layout
from tests.unit.plan.cache.shapes import DELTA, FULL, GIB, LATENT, WINDOW, divide, model

ENGINES = [SGLANG[0], TRTLLM[0], TGI[0], LIGHTLLM[0]]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_tokens_are_the_pool_over_what_a_token_weighs(engine: Engine) -> None:
    """GiB over 128 KiB a token, in whole blocks of the engine's own."""
    made = divide(model(*[FULL] * 32), engine=engine, pool_bytes=GIB + 5)
    assert (made.tokens, made.bytes_per_token, made.block_tokens) == (8192, 131072, engine.block_tokens)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_windows_are_promised_nothing_that_an_engine_might_not_free(engine: Engine) -> None:
    """A window counts like full attention, so that less is promised, never more."""
    tokens = [divide(model(*[cache] * 32), engine=engine).tokens for cache in (WINDOW, FULL)]
    assert tokens[0] == tokens[1]


def test_a_state_takes_the_room_of_tokens() -> None:
    """Three states of 2,146,304 bytes each beside one layer of 4 KiB a token take 1,572 tokens of a request."""
    made = divide(model(DELTA, DELTA, DELTA, FULL), engine=SGLANG[0])
    assert made.blocks_per_request(100) == 100 + 1572


def test_mla_is_not_divided_by_ranks() -> None:
    """SGLang keeps the latent vector on every rank, as vLLM does."""
    alone, shared = (divide(model(*[LATENT] * 61), Layout(ranks), engine=SGLANG[0]).tokens for ranks in (1, 8))
    assert alone == shared


def test_the_stage_with_most_layers_decides() -> None:
    """Stages of four and of three layers: the first holds fewer tokens."""
    assert divide(model(*[FULL] * 7), Layout(1, 2), engine=SGLANG[0], pool_bytes=GIB).tokens == GIB // (4 * 4096)
