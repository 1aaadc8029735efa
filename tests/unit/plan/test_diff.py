"""Two plans differ in the figures that a change moves, and in no others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from infra.plan.diff import Change, difference, usd_per_hour
from tests.unit.plan.specs import STACK, all_said, plan_of

PRICED = {"pools/gpus/usd_per_gpu_hour": 2.5}


def _changes(changes: dict[str, Any]) -> dict[tuple[str, str], Change]:
    before, after = plan_of(PRICED), plan_of(PRICED | changes)
    return {(change.key, change.figure): change for change in difference(before, after)}


def test_equal_plans_do_not_differ() -> None:
    """Nothing is listed that nobody changed."""
    assert difference(plan_of(PRICED), plan_of(PRICED)) == ()


@pytest.mark.parametrize(
    ("changes", "moved"),
    [
        ({"models/chat/weights/read_gb_s": 0.1}, {"reading weights", "startup budget"}),
        (
            {"models/chat/max_num_batched_tokens": 2048},
            {"tokens in a batch", "activation of a rank", "KV pool of a rank", "KV tokens"},
        ),
        ({"models/chat/memory_gib": 64}, {"memory of a pod"}),
        ({"models/chat/replicas": 3}, {"replicas", "cost per hour"}),
    ],
    ids=["disk", "batch", "pod", "replicas"],
)
def test_a_change_moves_its_own_figures(changes: dict[str, Any], moved: set[str]) -> None:
    """A slower disk makes the start longer and leaves memory and cost alone, and so on."""
    assert {figure for key, figure in _changes(changes) if key == "models.chat"} == moved


def test_cost_is_told_as_before_and_after() -> None:
    """One replica more on a host that is held already: 2.50 an hour for it, and the hosts cost what they did."""
    change = _changes({"models/chat/replicas": 3})["models.chat", "cost per hour"]
    assert (change.before, change.after, change.grows_by, change.unit) == (5.0, 7.5, 2.5, "usd")


def test_hosts_are_paid_whether_or_not_a_model_is_on_them() -> None:
    """Five hosts of eight at 2.50 instead of four."""
    found = _changes({"pools/gpus/hosts": 5})
    assert (found["stack", "cost per hour"].before, found["stack", "cost per hour"].after) == (80.0, 100.0)
    assert found["pools.gpus", "hosts"].grows_by == 1


def test_what_comes_and_goes_has_no_figure_on_the_other_side() -> None:
    """A model that is new was nothing before, and is not taken for one of nought."""
    second = {**STACK["models"]["chat"], "weights": {"host_path": "/weights/second"}}
    change = _changes({"models/second": second})["models.second", "replicas"]
    assert (change.before, change.after, change.grows_by) == (None, 2, None)


def test_a_stack_with_a_pool_without_price_has_no_cost() -> None:
    """A sum that leaves one out would be a number that nobody pays."""
    more = {"pools/b300": {"board": "hgx-b300", "hosts": 1}}
    assert usd_per_hour(plan_of(PRICED)) == 80.0
    assert usd_per_hour(plan_of(PRICED | more)) is None


def test_a_newer_engine_is_told_with_what_it_takes() -> None:
    """Before 0.21 graphs did not come off before the pool: an upgrade of the pin shows what it costs."""
    before = plan_of({"models/chat/engine_version": "0.20.0"})
    found = {change.figure: change for change in difference(before, plan_of())}
    assert (found["engine"].before, found["engine"].after) == ("vllm 0.20.0", "vllm 0.32.0")
    assert "KV pool of a rank" in found


def test_another_pin_is_refused_where_the_stack_was_full() -> None:
    """A stack that holds just so many requests plans anew with its pin, and fails at once (spark-vllm-docker#396).

    By its own default share 0.20 leaves less than 0.21, whose graphs come off a larger one.
    """
    full = {"models/chat/engine_version": "0.21.0", "models/chat/max_model_len": 2048, "models/chat/max_num_seqs": 1024}
    (said,) = all_said(full | {"models/chat/concurrency": 1024})
    holds = re.search(r"the KV cache holds (\d+) of them", said)
    assert holds, said
    full["models/chat/concurrency"] = int(holds[1])
    assert all_said(full) == []
    (refused,) = all_said(full | {"models/chat/engine_version": "0.20.0"})
    assert refused.startswith(f"RW-101 models.chat.concurrency: {holds[1]} requests of 2048 tokens")
