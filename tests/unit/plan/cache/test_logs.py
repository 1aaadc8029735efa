"""Tokens that vLLM logged follow from the pool it logged and the checkpoint's config.

Column ``assumed`` of logs.csv names the settings that a report does not give; for the others they are its own.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from infra.catalog.checkpoints import checkpoint
from infra.catalog.engines import VLLM
from infra.plan.cache import Pool, pool
from infra.plan.layout import Layout

with Path(__file__).with_name("logs.csv").open(encoding="utf-8") as file:
    LOGS = list(csv.DictReader(file))

GIB = 2**30

ROUNDING_GIB = 0.005
"""Half of the last digit that vLLM logs."""

OTHER_RANK = 0.012
"""Largest share by which a rank with less memory than the one that logged held fewer blocks."""


def divided(log: dict[str, str], pool_gib: float) -> Pool:
    """The pool of a logged run, had the engine had so many GiB."""
    major, minor = log["version"].split(".")
    return pool(
        checkpoint(log["model"]), Layout(int(log["tensor"])), engine=VLLM[0], version=(int(major), int(minor)),
        pool_bytes=int(pool_gib * GIB), kv_dtype=log["kv_dtype"],
        block_tokens=int(log["block_tokens"]) if log["block_tokens"] else None, max_len=int(log["max_len"]),
        batched_tokens=int(log["batched_tokens"]), max_seqs=256, speculative_tokens=int(log["drafted"]),
    )  # fmt: skip


def named(judged: str) -> list[pytest.param]:
    """Rows that are judged in one way."""
    return [pytest.param(log, id=f"{log['row']}-{log['model']}") for log in LOGS if log["judged"] == judged]


@pytest.mark.parametrize("log", named("rounding"))
def test_logged_tokens_lie_within_the_rounding_of_the_logged_pool(log: dict[str, str]) -> None:
    """The log's tokens lie between those of the smallest and of the largest pool that it rounds like this."""
    least, most = (divided(log, float(log["pool_gib"]) + by).tokens for by in (-ROUNDING_GIB, ROUNDING_GIB))
    assert least <= int(log["tokens"]) <= most


@pytest.mark.parametrize("log", [row for row in named("rounding") if row.values[0]["concurrency"]])
def test_logged_concurrency_lies_within_the_rounding_of_the_logged_pool(log: dict[str, str]) -> None:
    """The log's concurrency does so too, at its two digits."""
    bounds = (divided(log, float(log["pool_gib"]) + by) for by in (-ROUNDING_GIB, ROUNDING_GIB))
    least, most = (bound.concurrency(int(log["max_len"])) for bound in bounds)
    assert least - 0.005 <= float(log["concurrency"]) <= most + 0.005


@pytest.mark.parametrize("log", named("other rank"))
def test_a_rank_with_less_memory_explains_few_tokens_less(log: dict[str, str]) -> None:
    """With several ranks the log names one rank's pool, while the smallest decides: less, by little."""
    share = int(log["tokens"]) / divided(log, float(log["pool_gib"])).tokens
    assert 1 - OTHER_RANK <= share <= 1


@pytest.mark.parametrize(("tokens", "drafted"), [(622408, 3), (270930, 3), (518430, 3), (652346, 0), (567737, 4)])
def test_logs_without_a_pool_are_whole_blocks_of_one_request(tokens: int, drafted: int) -> None:
    """Five logs of 27B hybrids on two GPUs are blocks over those of the longest request, at one number drafted."""
    assert [number for number in range(6) if is_whole(tokens, number)] == [drafted]


def is_whole(tokens: int, drafted: int, length: int = 262144) -> bool:
    """Whether some number of blocks gives these tokens."""
    made = pool(
        checkpoint("Qwen/Qwen3.6-27B"), Layout(2), engine=VLLM[0], version=(0, 25), pool_bytes=GIB, kv_dtype="fp8",
        block_tokens=None, max_len=length, batched_tokens=2048, max_seqs=256, speculative_tokens=drafted,
    )  # fmt: skip
    request = made.blocks_per_request(length)
    return int(-(-tokens * request // length) / request * length) == tokens


def test_one_request_needs_what_vllm_says_it_needs() -> None:
    """MiniMax-M2.7 on two ranks needs 23.25 GiB for 196,608 tokens (eugr/spark-vllm-docker#396)."""
    made = divided(next(log for log in LOGS if log["row"] == "46"), 28.74)
    assert round(made.blocks_per_request(196608) * made.bytes_per_block / GIB, 2) == 23.25
