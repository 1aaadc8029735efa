"""A model with a goal gets a speed, a price and a choice, and is told where its plan falls short."""

from __future__ import annotations

from typing import Any

import pytest

from infra.plan.engine_args import arguments
from infra.plan.facts import ModelPlan
from infra.plan.goals import notes
from tests.unit.plan.specs import LAB, model_of

GOAL = {"prompt": 2000, "output": 400, "concurrency": 64}
PRICED = {"pools/gpus/usd_per_gpu_hour": 2.5}


def _model(goal: dict[str, Any] | None = None, **changes: Any) -> ModelPlan:
    keys = {f"models/chat/{key}": value for key, value in changes.items()}
    return model_of({"models/chat/goal": {**GOAL, **(goal or {})}, **PRICED, **keys})


def test_without_a_goal_nothing_is_chosen() -> None:
    """Prompt, answer and load are the user's to say; a price by the hour needs none of them."""
    plan = model_of(PRICED)
    assert (plan.speed, plan.choice) == (None, None)
    assert plan.cost
    assert (plan.cost.usd_per_hour, plan.cost.floor_usd_per_hour, plan.cost.usd_per_request) == (5.0, 20.0, None)


def test_a_goal_gives_tokens_a_price() -> None:
    """What a request costs is what its tokens cost."""
    plan = _model()
    assert plan.speed
    assert plan.cost
    assert plan.cost.usd_per_request
    parts = 2000 * (plan.cost.usd_per_million_in or 0) + 400 * (plan.cost.usd_per_million_out or 0)
    assert parts / 1e6 == pytest.approx(plan.cost.usd_per_request)


def test_a_busier_replica_makes_cheaper_tokens() -> None:
    """The hosts cost the same."""
    few, many = _model({"concurrency": 8}).cost, _model({"concurrency": 64}).cost
    assert few
    assert many
    assert (many.usd_per_million_out or 0) < (few.usd_per_million_out or 0)


def test_the_batch_of_a_model_with_a_goal_is_what_its_cache_holds() -> None:
    """No request of the usual length is put back to wait, and the engine is told so."""
    plan = _model()
    assert plan.memory.pool
    assert plan.max_seqs <= plan.memory.pool.requests(2400)
    assert {f"--max-num-seqs={plan.max_seqs}", f"--max-num-batched-tokens={plan.batched_tokens}"} <= set(
        arguments(plan)
    )


def test_what_the_spec_says_of_the_batch_holds() -> None:
    """A goal chooses only what is left open."""
    assert _model(max_num_seqs=32).max_seqs == 32


@pytest.mark.parametrize(
    ("goal", "changes", "said"),
    [
        ({}, {"replicas": 1}, []),
        ({}, {}, ["2 GPUs are planned; replicas: 1, tensor_parallel: 1 in bf16 (1 GPUs) would do"]),
        ({}, {"tensor_parallel": 8}, ["16 GPUs are planned; replicas: 1, tensor_parallel: 1"]),
        ({"token_s": 0.012}, {"replicas": 1}, ["it misses its goal, short of", "for time between tokens"]),
        ({"token_s": 1e-5}, {}, ["short of time between tokens; nothing on its pool meets it"]),
        ({"tokens_per_s": 1e7}, {}, ["short of tokens per second; nothing on its pool meets it"]),
    ],
    ids=["just right", "twice too many", "far too many", "too slow", "never so fast", "never so much"],
)
def test_a_note_tells_where_plan_and_goal_part(goal: dict[str, Any], changes: dict[str, Any], said: list[str]) -> None:
    """In the words of the stack file, so that it can be copied; a plan that is right is not talked about."""
    found = [note for note in notes(_model(goal, **changes)) if "extrapolated" not in note]
    assert len(found) == bool(said), found
    assert all(words in found[0] for words in said), found


def test_what_lies_outside_of_measurements_is_said() -> None:
    """A prediction for a load that nobody measured is no promise."""
    found = list(notes(_model({"prompt": 7900, "output": 2, "concurrency": 2})))
    assert any("extrapolated" in note for note in found), found


def test_a_host_without_gpus_has_a_price_and_no_choice() -> None:
    """The lab's engine on CPUs is not predicted."""
    plan = model_of({"pools/host/usd_per_gpu_hour": 0.5, "models/tiny/goal": GOAL}, LAB)
    assert (plan.choice, plan.speed, plan.cost and plan.cost.floor_usd_per_hour) == (None, None, 0.5)
    assert list(notes(plan)) == []
