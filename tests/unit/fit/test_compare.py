"""A log is held against the plan term by term, and the term that is off is named."""

from __future__ import annotations

from typing import Any

import pytest

from infra.errors import Unknown
from infra.fit.compare import Fit, compare
from infra.plan.startup import Startup
from infra.units import GIB
from tests.unit.fit.plans import log_of, single

H100 = """
Free memory on device (78.90/79.19 GiB) on startup. Desired GPU memory utilization is (0.95, 75.23 GiB). \
Actual usage is {weights} GiB for weight, {activation} GiB for peak activation, {outside} GiB for non-torch memory, \
and 0.50 GiB for CUDAGraph memory.
Available KV cache memory: {pool} GiB
GPU KV cache size: {tokens} tokens
Maximum concurrency for 8,192 tokens per request: {concurrency}x
"""
AS_LOGGED = {
    "weights": 14.99,
    "activation": 1.89,
    "outside": 0.25,
    "pool": 58.11,
    "tokens": "476,016",
    "concurrency": 58.11,
}
"""Llama-3.1-8B on one H100 with vLLM 0.19. Source: llm-d-planner docs/accuracy/vllm-v0.19.0-accuracy-report.md."""


def _fit(changes: dict[str, Any] | None = None, **options: Any) -> Fit:
    log = log_of(H100.format(**{**AS_LOGGED, **(changes or {})}))
    return compare(log, single("llama-8b", "h100", "0.19.0", **options))


def test_a_log_that_agrees_blames_nothing() -> None:
    """Every figure of a measured start is within its bar."""
    fit = _fit()
    assert ([term.name for term in fit.terms if term.is_off], fit.blame) == ([], None)


@pytest.mark.parametrize(
    ("changes", "blamed", "gib"),
    [
        ({"activation": 4.76, "pool": 55.24, "tokens": "452,496", "concurrency": 55.24}, "activation", 2.87),
        ({"outside": 3.25, "pool": 55.11, "tokens": "451,440", "concurrency": 55.11}, "outside PyTorch", 3.0),
        ({"weights": 29.98, "pool": 43.12, "tokens": "353,216", "concurrency": 43.12}, "weights", 15.0),
    ],
    ids=["activation", "driver", "weights in float32"],
)
def test_the_term_that_is_off_is_named(changes: dict[str, Any], blamed: str, gib: float) -> None:
    """With by how much, in the engine's own words for it."""
    blame = _fit(changes).blame
    assert blame
    assert (blame.name, round(blame.difference / GIB, 1)) == (blamed, round(gib, 1))


def test_blocks_are_judged_by_the_cache_that_was_logged() -> None:
    """Half as many tokens from the same bytes is the rule's fault, or a cache of twice the width."""
    blame = _fit({"tokens": "238,008", "concurrency": 29.05}).blame
    assert blame
    assert blame.name == "tokens of the logged cache"


def test_what_is_not_split_is_judged_together() -> None:
    """Logs of 0.9 and later often say weights and cache only."""
    log = log_of("Model loading took 14.99 GiB and 5.0 seconds\nAvailable KV cache memory: 51.38 GiB\n")
    blame = compare(log, single("llama-8b", "h100", "0.19.0")).blame
    assert blame
    assert blame.name == "activation, outside PyTorch and graphs"


def test_a_plan_is_made_with_the_arguments_of_the_log() -> None:
    """Otherwise every figure would be off for a reason that is known."""
    fit = _fit(max_len=131072, utilisation=0.9)
    assert (fit.single.options.max_len, fit.single.options.utilisation) == (8192, 0.95)
    assert fit.otherwise == (
        "share of memory: 0.95 in the log, 0.9 in the plan",
        "longest request: 8192 in the log, 131072 in the plan",
    )


def test_a_refusal_is_held_against_what_one_request_needs() -> None:
    """Both what it needs and how long it may be are exact (figures of a Llama-3.1-8B by vLLM's own rule)."""
    log = log_of(
        "ValueError: To serve at least one request with the models's max seq len (131072), (16.0 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (3.18 GiB). Based on the available memory, the "
        "estimated maximum model length is 26032."
    )
    terms = {term.name: term for term in compare(log, single("llama-8b", "h100", "0.19.0")).terms}
    assert terms["cache of one longest request"].planned == 16 * GIB
    assert not terms["longest request"].is_off


def test_the_log_of_this_lab_agrees_to_the_token() -> None:
    """vLLM 0.32 on a CPU with 1 GiB of cache, 2026-12-01."""
    log = log_of(
        "(EngineCore pid=27097) INFO 12-01 23:53:55 [cpu_worker.py:260] Explicitly set (1.0/19.96) GiB for KV cache on "
        "node 0.\n(EngineCore pid=27097) INFO 12-01 23:53:55 [kv_cache_utils.py:2327] CPU KV cache size: 2,097,152 "
        "tokens, Maximum concurrency for 8,192 tokens per request: 256.00x\n"
    )
    fit = compare(log, single("tiny", None, "0.32.0", max_len=8192, host_pool=GIB))
    assert [(term.name, term.difference) for term in fit.terms] == [
        ("tokens", 0),
        ("tokens of the logged cache", 0),
        ("requests of the longest kind", 0),
    ]


@pytest.mark.parametrize(
    ("seconds", "off"), [(20.0, False), (100.0, False), (200.0, True)], ids=["fast", "near", "slow"]
)
def test_only_a_slow_start_is_off(seconds: float, off: bool) -> None:
    """A budget is no prediction: less is welcome, and half as much again is what it allows for."""
    log = log_of(f"Model loading took 14.99 GiB and {seconds} seconds\n")
    startup = Startup(read=80, copy=10, compile=60, capture=20, prompt=0, floor=170, budget=600, progress_deadline=900)
    (term,) = [term for term in compare(log, single("llama-8b", "h100", "0.19.0"), startup).terms if term.is_bound]
    assert (term.name, term.is_off) == ("load of the weights", off)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("non-default args: {'model': 'meta-llama/Llama-3.1-70B-Instruct'}\n", "is of 'meta-llama/"),
        ("non-default args: {'pipeline_parallel_size': 999999999}\n", "tells of ranks that 'llama-8b' cannot have"),
        ("Model loading took 900.0 GiB and 5.0 seconds\n", "name the GPU it is of"),
    ],
    ids=["another model", "a thousand million stages", "another GPU"],
)
def test_a_log_of_something_else_is_not_compared(said: str, why: str) -> None:
    """Terms were blamed that are right, and a thousand million stages filled the memory."""
    log = log_of(f"{said}Available KV cache memory: 51.38 GiB\n")
    with pytest.raises(Unknown, match=why):
        compare(log, single("llama-8b", "h100", "0.19.0"))
