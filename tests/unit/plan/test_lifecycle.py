"""Starts, stops and rollouts follow from bytes, bandwidth and free GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from infra.catalog.quantisations import quantisation
from infra.plan.layout import Layout
from infra.plan.memory.weights import stage_weights
from infra.plan.startup import stored_bytes
from tests.unit.catalog.config_samples import LLAMA, sample
from tests.unit.plan.specs import LAB, model_of, plan_of

M = "models/chat"


def test_a_start_is_reading_copying_and_compiling() -> None:
    """16.06 GB at 2 GB/s, then at 64 GB/s, then 300 s, 51 graphs at a quarter of a second each among them, a prompt."""
    start = model_of().startup
    assert (start.read, start.copy, start.compile, start.capture, start.floor) == (9, 1, 287, 13, 311)


def test_a_slow_disk_makes_the_budget_longer() -> None:
    """161 s + 1 s + 300 s + 1 s at 0.1 GB/s, with half as much again, in steps of a probe."""
    start = model_of({f"{M}/weights/read_gb_s": 0.1}).startup
    assert (start.floor, start.budget, start.progress_deadline) == (463, 700, 1000)


def test_a_small_model_gets_ten_minutes_all_the_same() -> None:
    """A slow first start is cheaper than a restart loop."""
    start = model_of(base=LAB).startup
    assert (start.compile, start.budget, start.progress_deadline) == (0, 600, 900)


def test_ranks_load_side_by_side() -> None:
    """Eight ranks copy an eighth each; reading from storage is not shared."""
    one, eight = (
        model_of({f"{M}/tensor_parallel": ranks, f"{M}/architecture": "meta-llama/Llama-3.1-405B-Instruct"}).startup
        for ranks in (1, 8)
    )
    assert (one.read, one.copy, eight.read, eight.copy) == (406, 13, 406, 2)


@pytest.mark.parametrize(
    ("changes", "drain", "grace"),
    [
        ({}, 600, 660),
        ({"gateway/longest_answer": "2m"}, 120, 180),
        ({f"{M}/drain": "20m"}, 1200, 1260),
        ({f"{M}/grace": "1h"}, 600, 3600),
    ],
    ids=["gateway's default", "gateway's answer", "stated drain", "stated grace"],
)
def test_a_stop_lets_the_longest_answer_end(changes: dict[str, Any], drain: int, grace: int) -> None:
    """40 s of propagation, the drain, 15 s of teardown, and 5 s to win the race against SIGKILL."""
    stop = model_of(changes).shutdown
    assert (stop.pre_stop, stop.drain, stop.teardown, stop.grace) == (40, drain, 15, grace)


@pytest.mark.parametrize(
    ("changes", "surge", "unavailable", "least"),
    [
        ({}, 1, 0, 1),
        ({f"{M}/replicas": 1}, 1, 0, None),
        ({f"{M}/replicas": 32}, 0, 1, 31),
        ({f"{M}/rollout": {"max_surge": 2, "max_unavailable": 1}}, 2, 1, 1),
        ({f"{M}/replicas": 8, f"{M}/min_available": 5}, 1, 0, 5),
        ({f"{M}/replicas": 24, "pools/gpus/spare_hosts": 1}, 0, 1, 23),
    ],
    ids=["room", "single", "full pool", "stated", "stated budget", "full but for the spare"],
)
def test_a_rollout_uses_the_room_there_is(
    changes: dict[str, Any], surge: int, unavailable: int, least: int | None
) -> None:
    """With room one replica more comes first; without, one goes first; an eviction leaves all but one."""
    roll = model_of(changes).rollover
    assert (roll.max_surge, roll.max_unavailable, roll.min_available) == (surge, unavailable, least)


def test_whatever_the_plan_computes_itself_is_not_refused() -> None:
    """Defaults hold together for short and for long answers alike."""
    for answer in ("1s", "10m", "24h"):
        settings = {"gateway/longest_answer": answer, "gateway/drain": answer, "gateway/idle_timeout": "1s"}
        assert plan_of(settings).refusals == ()


def test_the_gateway_outlives_its_own_drain() -> None:
    """10 s before the door closes, 10 min of drain, Envoy's own end, and 5 s over."""
    gateway = plan_of().gateway
    assert gateway.grace == 10 + 600 + gateway.teardown + 5


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
@pytest.mark.parametrize(("stored", "factor"), [("float32", 2), ("float16", 1)])
def test_float32_weights_were_read_at_two_bytes_a_value(key: str, stored: str, factor: int) -> None:
    """Half of the time to read them was left out; in memory they take two bytes all the same."""
    usual, one = sample(LLAMA), sample(LLAMA, **{key: stored})
    assert stored_bytes(one) == factor * stored_bytes(usual)
    in_memory = [stage_weights(each, Layout(), quantisation("bf16"), drafter=False) for each in (usual, one)]
    assert in_memory[0] == in_memory[1]
