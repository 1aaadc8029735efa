"""One pass from spec to plan: the same in, the same out, and a note where something is odd but works."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.errors import ConfigError
from infra.plan.build import accepted, build
from infra.plan.images import with_digest
from tests.unit.plan.specs import DIGEST, LAB, STACK, model_of, plan_of, read

WATCHED = {"observability/storage": {"size_gib": 100}}
"""A change after which the stack is watched."""


def test_a_plan_depends_on_the_spec_alone() -> None:
    """No clock, no chance, no order of dictionaries."""
    assert plan_of() == plan_of()


def test_a_plan_is_made_for_a_refused_spec_too() -> None:
    """`infra plan` shows the sizes beside the refusals."""
    plan = plan_of({"models/chat/architecture": "meta-llama/Llama-3.1-70B-Instruct"})
    assert plan.refusals
    assert plan.models[0].memory.kv_pool < 0


def test_an_accepted_spec_becomes_its_plan() -> None:
    """Nothing is added on the way."""
    spec = read()
    assert spec.stack
    assert accepted(spec) == build(spec, spec.stack)


def test_mistakes_and_refusals_are_told_together() -> None:
    """The program stops once, with all of it."""
    with pytest.raises(ConfigError) as caught:
        accepted(read({"gateway/drian": "1m", "models/chat/min_available": 2}))
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "gateway.drian",
        "RW-204 models.chat.min_available",
    ]


def test_a_stand_in_is_never_carried_out() -> None:
    """A gateway that is missing is planned around, but the program still stops."""
    spec = read({"gateway": "(absent)"})
    assert spec.stack
    assert build(spec, spec.stack).refusals == ()
    with pytest.raises(ConfigError, match=r"^gateway: missing; add railwright:gateway$"):
        accepted(spec)


def test_images_wait_for_the_lock_in_a_plan_and_not_in_the_program() -> None:
    """A plan is possible before the images are built; an update is not."""
    changes = {"images/lock": "none.json", "models/chat/image": "docker.io/x/y"}
    assert plan_of(changes).refusals == ()
    assert any("none.json is not written yet" in note for note in plan_of(changes).notes)
    with pytest.raises(ConfigError, match=r"images\.lock: 'none\.json' is not there; build it first"):
        accepted(read(changes))


def test_an_image_gets_its_digest_from_the_lock(tmp_path: Path) -> None:
    """By its exact name, and no other image does."""
    (tmp_path / "lock.json").write_text(f'{{"docker.io/x/y": "{DIGEST}"}}', encoding="utf-8")
    plan = plan_of({"images/lock": "lock.json", "models/chat/image": "docker.io/x/y"}, root=tmp_path)
    assert (plan.models[0].image, plan.refusals) == (f"docker.io/x/y@{DIGEST}", ())


def test_an_image_that_the_lock_does_not_know_is_refused(tmp_path: Path) -> None:
    """Once the lock is there, it is the only hope."""
    (tmp_path / "lock.json").write_text("{}", encoding="utf-8")
    refusals = plan_of({"images/lock": "lock.json", "models/chat/image": "docker.io/x/y"}, root=tmp_path).refusals
    assert [(item.id, item.key) for item in refusals] == [("RW-402", "models.chat.image")]
    assert refusals[0].fix.endswith("or add it to lock.json")


@pytest.mark.parametrize("image", ["a:1", f"a@{DIGEST}", "b"], ids=["tag", "digest", "unknown"])
def test_other_references_are_left_alone(image: str) -> None:
    """A lock completes names; it does not rewrite what was said."""
    assert with_digest(image, {"a": DIGEST}) == image


def test_a_stack_that_nothing_watches_is_noted() -> None:
    """It works, and nobody is told when it does not."""
    assert [note.split(":")[0] for note in plan_of().notes] == ["observability"]
    assert plan_of(WATCHED).notes == ()


def test_one_replica_is_noted() -> None:
    """It works, and its host cannot be drained without an interruption."""
    assert plan_of({"models/chat/replicas": 1, **WATCHED}).notes == (
        "models.chat: 1 replica has no disruption budget; draining its host interrupts it",
    )


def test_a_full_pool_is_noted() -> None:
    """It works, with one replica less during a rollout."""
    (note,) = plan_of({"models/chat/replicas": 32, **WATCHED}).notes
    assert note.endswith("so a rollout takes one away first")


def test_a_relative_path_starts_at_the_clone(tmp_path: Path) -> None:
    """The lab's host and the clone are one machine."""
    model = plan_of(base=LAB, root=tmp_path).models[0]
    assert model.weights_path == str(tmp_path / "models/tiny")


@pytest.mark.parametrize(("ranks", "cpus"), [(1, 25.2), (4, 100.8), (8, 201.6)], ids=str)
def test_a_pod_gets_its_share_of_the_cpus(ranks: int, cpus: float) -> None:
    """As its share of the GPUs, of nine tenths of the host."""
    assert model_of({"models/chat/tensor_parallel": ranks}).cpus == pytest.approx(cpus, abs=0.1)


def test_pods_that_fill_the_gpus_fit_the_host() -> None:
    """CPUs and memory that the plan computes never leave a GPU idle."""
    for ranks in (1, 2, 4, 8):
        plan = model_of({"models/chat/tensor_parallel": ranks})
        assert plan.placement.replicas_per_host == 8 // ranks
        assert plan.cpus * 8 // ranks <= plan.pool.board.cpus


def test_the_spec_itself_is_not_touched() -> None:
    """Two plans of one spec are equal, so nothing in it was used up."""
    spec = read()
    assert spec.stack
    assert build(spec, spec.stack) == build(spec, spec.stack)
    assert read(base=STACK).stack == spec.stack
