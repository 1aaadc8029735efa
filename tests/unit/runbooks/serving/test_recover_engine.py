"""What is said and offered for each way in which an engine fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runbooks.engine.discover import load
from runbooks.engine.result import Exit
from runbooks.engine.run import Site, undo
from runbooks.serving import _pulse
from runbooks.serving.recover_engine import RecoverEngine
from tests.unit.runbooks.fakes import PLAN, TINY, Cluster, World, event, offered, pod, said, stamp

BUSY = 'vllm:num_requests_running{model_name="tiny"} 2\nvllm:generation_tokens_total{model_name="tiny"} 90\n'
KILLED = {"restartCount": 3, "lastState": {"terminated": {"exitCode": 137, "reason": "Error", "finishedAt": stamp(20)}}}
OUT_OF_MEMORY = {
    "restartCount": 1,
    "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "finishedAt": stamp(20)}},
}

REPLICAS = next(one.model.replicas for one in PLAN.models if one.name == "tiny")

CASES: dict[str, tuple[Cluster, str, set[str]]] = {
    "killed": (
        Cluster(pods_there=[pod(age=300, **KILLED)]),
        f"container engine of pod models/{TINY} ended by signal 9 (SIGKILL), 3 restarts within 5 min",
        {"replace_pod", "silence"},
    ),
    "out of memory": (
        Cluster(pods_there=[pod(**OUT_OF_MEMORY)]),
        "killed for want of memory (OOMKilled), 1 restart",
        {"replace_pod", "silence"},
    ),
    "no image": (
        Cluster(pods_there=[pod(ready=False, state={"waiting": {"reason": "ErrImageNeverPull"}})], ready={"tiny": 0}),
        "image docker.io/railwright/x of container engine of pod models/tiny-7fff55f7f4-jwx6m cannot be pulled",
        {"silence"},
    ),
    "no place": (
        Cluster(pods_there=[pod(ready=False, host="")], ready={"tiny": 0}), "has no host: 0/2 nodes: cpu", {"silence"},
    ),
    "starting": (
        Cluster(pods_there=[pod(ready=False, age=5)], ready={"tiny": 0}, pages={TINY: [""]}),
        "is starting, for ",
        {"silence"},
    ),
    "gone": (
        Cluster(pods_there=[], ready={"tiny": 0}, events_there=[event("Killing", TINY, "Stopping container engine")]),
        f"pod models/{TINY} ended (Killing: Stopping container engine)",
        {"silence"},
    ),
    "no answer": (
        Cluster(pods_there=[pod(ready=False)], pages={TINY: []}),
        f"engine of pod models/{TINY} hangs: its container runs and answers nothing, since",
        {"replace_pod", "restart", "silence"},
    ),
    "no token": (
        Cluster(pages={TINY: [BUSY]}),
        f"pod models/{TINY} takes requests and gives no token",
        {"replace_pod", "restart", "silence"},
    ),
    "fewer than planned": (
        Cluster(ready={"tiny": 0}),
        f"0 of {REPLICAS} planned replicas of deployment models/tiny are ready",
        {"silence"},
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pulse, "PAUSE_SECONDS", 0.0)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_fault_is_named_and_answered(case: str, tmp_path: Path) -> None:
    """The diagnosis says the fault in words, and offers what helps against it and nothing else."""
    cluster, words, offers = CASES[case]
    result = World(cluster).run(RecoverEngine, tmp_path, model="tiny")
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers)


def test_a_fault_that_healed_before_anyone_looked_is_still_named(tmp_path: Path) -> None:
    """A pod was deleted and its successor was ready in 20 s: all replicas serve, and the alert still fires."""
    killed = event("Killing", f"{TINY[:-5]}gone1", "Stopping container engine", ago=40)
    result = World(Cluster(pods_there=[pod(age=40)], events_there=[killed])).run(RecoverEngine, tmp_path, model="tiny")
    assert f"pod models/{killed.name} ended (Killing: Stopping container engine), since" in said(result)
    assert f"pod models/{TINY} is new, made " in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, {"silence"})


def test_a_healthy_model_offers_nothing(tmp_path: Path) -> None:
    """Nothing found, nothing to do."""
    result = World().run(RecoverEngine, tmp_path, model="tiny")
    assert (result.exit, offered(result)) == (Exit.DONE, set())


def test_tokens_that_flow_are_no_hang(tmp_path: Path) -> None:
    """An engine that made a token between the two looks lives."""
    world = World(Cluster(pages={TINY: [BUSY, BUSY.replace("90", "91")]}))
    assert "takes requests and gives no token" not in said(world.run(RecoverEngine, tmp_path, model="tiny"))


def test_a_hung_pod_gets_no_grace(tmp_path: Path) -> None:
    """A stopped process would sit out its whole drain."""
    world = World(Cluster(pods_there=[pod(ready=False)], pages={TINY: []}))
    result = world.run(RecoverEngine, tmp_path, model="tiny", do="replace_pod", yes=True)
    assert (result.exit, world.kube.written) == (Exit.DONE, [f"delete pod {TINY} with 2 s of grace"])


def test_what_does_not_help_is_not_done(tmp_path: Path) -> None:
    """``do`` that the findings do not call for stops before any write."""
    world = World()
    result = world.run(RecoverEngine, tmp_path, model="tiny", do="replace_pod", yes=True)
    assert (result.exit, world.kube.written) == (Exit.REFUSED, [])
    assert "replace_pod does not help against what was found; what does: nothing" in said(result)


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    """Without --yes the same run only says what it would do."""
    world = World(Cluster(pods_there=[pod(age=300, **KILLED)]))
    result = world.run(RecoverEngine, tmp_path, model="tiny", do="replace_pod")
    assert world.kube.written == []
    assert any("delete pod" in one for step in result.steps for one in step.would)


@pytest.mark.parametrize("inputs", [{"model": "tinny"}], ids=str)
def test_an_unknown_model_is_refused_with_those_there_are(inputs: dict[str, Any], tmp_path: Path) -> None:
    """The message names what may be named."""
    result = World().run(RecoverEngine, tmp_path, **inputs)
    assert result.exit is Exit.REFUSED
    assert "serves llama-405b, tiny" in said(result)


def test_a_container_that_ended_by_itself_once_is_no_fault(tmp_path: Path) -> None:
    """After a restart of the host every container has ended once; nothing is to be done."""
    last = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": stamp(20)}}
    result = World(Cluster(pods_there=[pod(restartCount=1, lastState=last)])).run(RecoverEngine, tmp_path, model="tiny")
    assert "ended by itself and began again, once" in said(result)
    assert offered(result) == {"silence"}


def test_a_bad_image_is_rolled_back_and_rolled_forward_again(tmp_path: Path) -> None:
    """What the last update applied is put back; undo brings the newer template again."""
    bad = {"metadata": {"labels": {}}, "spec": {"containers": [{"name": "vllm", "image": "typo"}]}}
    waits = pod(ready=False, state={"waiting": {"reason": "ErrImageNeverPull"}})
    world = World(Cluster(pods_there=[waits], ready={"tiny": 0}, templates={"tiny": bad}))
    assert "roll_back" in offered(world.run(RecoverEngine, tmp_path, model="tiny"))
    result = world.run(RecoverEngine, tmp_path, model="tiny", do="roll_back", yes=True)
    assert (result.exit, world.kube.templates["tiny"] == bad) == (Exit.DONE, False)
    undo(result.run_id, load=load, site=Site(runs=tmp_path / "runs", connect=world.connect))
    assert world.kube.templates["tiny"] == bad
