"""Taking pods away, moving them and taking changes back, on the running lab: hosts that exist in the API only."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from infra.errors import CheckError
from lab.cluster.lab import Lab
from runbooks.engine.model import Verdict
from runbooks.lib import changes, clients, drain, drift, rollback, scaling
from runbooks.lib.clients import Clients
from tests.lab.living_lab import get, kubectl, serving_lab
from tests.lab.simulated_hosts import HOST, OTHER, left_as_found
from tests.unit.runbooks.lib.acting import Acting

SPACE = "runbook-test"
"""Namespace of what these tests make; it goes with them."""

SOON = timedelta(seconds=60)


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


@pytest.fixture(scope="module")
def space(lab: Lab) -> Iterator[str]:
    """An empty namespace."""
    kubectl(lab, "create", "namespace", SPACE)
    yield SPACE
    kubectl(lab, "delete", "namespace", SPACE, "--wait=true")


@pytest.fixture
def ctx(lab: Lab) -> Acting:
    return Acting()


@pytest.fixture
def c(ctx: Acting) -> Clients:
    return clients.of(ctx)


@pytest.fixture
def app(lab: Lab, space: str) -> Iterator[Callable[..., str]]:
    """Makes Deployments on the two simulated hosts, and takes them away."""
    made: list[str] = []

    def make(name: str, replicas: int, *, budget: int = 0, gpus: int = 1, **spec: Any) -> str:
        kubectl(lab, "apply", "--filename=-", given=yaml.safe_dump_all(_objects(name, replicas, budget, gpus, spec)))
        made.append(name)
        kubectl(lab, "rollout", "status", f"deployment/{name}", f"--namespace={space}", "--timeout=90s")
        return name

    yield make
    for name in made:
        kubectl(lab, "delete", f"deployment/{name}", f"poddisruptionbudget/{name}", f"--namespace={space}",
                "--ignore-not-found", "--wait=true", "--cascade=foreground")  # fmt: skip


def _objects(name: str, replicas: int, budget: int, gpus: int, spec: dict[str, Any]) -> list[dict[str, Any]]:
    labels, meta = {"app": name}, {"name": name, "namespace": SPACE}
    asks = {"nvidia.com/gpu": str(gpus), "cpu": "1"}
    pod = {
        "nodeSelector": {"railwright.dev/pool": "h200"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "containers": [{"name": "c", "image": "nowhere", "resources": {"limits": asks, "requests": asks}}],
        **spec,
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    found = [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": body}]
    if budget:
        guard = {"minAvailable": budget, "selector": {"matchLabels": labels}}
        found.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": guard})
    return found


@pytest.fixture
def hosts_as_before(lab: Lab) -> Iterator[None]:
    with left_as_found(lab):
        yield


# Taking pods away


def test_an_eviction_waits_for_its_budget(c: Clients, app: Callable[..., str]) -> None:
    """Refused as long as nothing may be missing, let go as soon as one may."""
    name = app("guarded", 1, budget=1)
    pod = c.kube.pods.list(SPACE, labels={"app": name})[0]
    with pytest.raises(CheckError, match="disruption budget"):
        c.kube.pods.evict(SPACE, pod.name, timeout=timedelta(seconds=3))
    assert c.kube.pods.get(SPACE, pod.name).uid == pod.uid
    c.kube.deployments.scale(SPACE, name, 2)
    c.kube.pods.evict(SPACE, pod.name, timeout=SOON)
    c.kube.pods.until_gone(SPACE, pod.name, pod.uid, timeout=SOON)


def test_a_dry_run_leaves_everything(lab: Lab, app: Callable[..., str]) -> None:
    """Each write is told instead, and the cluster keeps its version of every object."""
    name = app("dry", 1)
    ctx = Acting(dry=True)
    kube = clients.of(ctx).kube
    pod = kube.pods.list(SPACE, labels={"app": name})[0]
    before = [get(lab, "pods", f"--namespace={SPACE}"), get(lab, "deployments", f"--namespace={SPACE}")]
    kube.pods.delete(SPACE, pod.name)
    kube.pods.evict(SPACE, pod.name, timeout=SOON)
    kube.pods.annotate(SPACE, pod.name, {"a": "b"})
    kube.deployments.scale(SPACE, name, 3)
    kube.deployments.restart(SPACE, name)
    kube.deployments.put_template(SPACE, name, {})
    kube.hosts.cordon(HOST)
    assert len(ctx.wished) == 7
    assert [get(lab, "pods", f"--namespace={SPACE}"), get(lab, "deployments", f"--namespace={SPACE}")] == before


def test_a_drain_without_room_is_refused(ctx: Acting, c: Clients, app: Callable[..., str]) -> None:
    """It names the pod that has no other place, and touches nothing."""
    app("pinned", 1, nodeSelector={"kubernetes.io/hostname": HOST})
    outcome = drain.drain(ctx, HOST, timeout=SOON)
    assert outcome.verdict is Verdict.STOP
    assert "pinned" in outcome.said
    assert "no place but on host" in outcome.said
    assert not c.kube.hosts.get(HOST).cordoned
    assert not ctx.recorded


def test_a_drain_without_gpus_to_spare_is_refused(ctx: Acting, app: Callable[..., str]) -> None:
    """Two replicas of 8 GPUs fill both hosts, so that neither can be emptied."""
    app("wide", 2, gpus=8)
    assert any("wide" in reason for reason in drain.refusals(ctx, HOST))
    assert drain.refusals(ctx, HOST, interrupt=True) == []


def test_a_drain_replaces_before_it_takes(
    lab: Lab, ctx: Acting, c: Clients, app: Callable[..., str], hosts_as_before: None
) -> None:
    """At no moment fewer replicas are ready than before; afterwards the host is empty, and given back on undo."""
    name = app("moves", 4, budget=4)
    assert {pod.host for pod in c.kube.pods.list(SPACE, labels={"app": name})} == {HOST, OTHER}
    with ThreadPoolExecutor(1) as thread:
        draining = thread.submit(drain.drain, ctx, HOST, timeout=SOON)
        watcher, least = clients.of(Acting()).kube.pods, 4
        while not draining.done():
            least = min(least, sum(pod.ready and not pod.deleting for pod in watcher.list(SPACE, labels={"app": name})))
            time.sleep(0.05)
    assert draining.result().verdict is Verdict.OK
    assert least == 4
    assert {pod.host for pod in c.kube.pods.list(SPACE, labels={"app": name})} == {OTHER}
    assert c.kube.hosts.get(HOST).cordoned_by == ("run/test-run",)
    assert c.kube.deployments.get(SPACE, name).replicas == 4
    for _ in range(2):
        assert drain.undo(ctx, "act").verdict is Verdict.OK
    assert not c.kube.hosts.get(HOST).cordoned


def test_a_drain_that_stopped_halfway_is_undone(
    lab: Lab, ctx: Acting, c: Clients, app: Callable[..., str], hosts_as_before: None
) -> None:
    """A quota lets no replacement come: replicas and cordon are as before after undo, and no pod has gone."""
    name = app("stuck", 1)
    pod = c.kube.pods.list(SPACE, labels={"app": name})[0]
    kubectl(lab, "create", "quota", "full", "--hard=pods=1", f"--namespace={SPACE}")
    try:
        with pytest.raises(CheckError, match="replacements"):
            drain.drain(ctx, pod.host, timeout=timedelta(seconds=4))
        assert c.kube.hosts.get(pod.host).cordoned
    finally:
        drain.undo(ctx, "act")
        kubectl(lab, "delete", "quota", "full", f"--namespace={SPACE}")
    assert c.kube.deployments.get(SPACE, name).replicas == 1
    assert c.kube.pods.get(SPACE, pod.name).uid == pod.uid
    assert not c.kube.hosts.get(pod.host).cordoned


# Changes


def test_a_change_by_hand_is_found_and_rolled_back(ctx: Acting, c: Clients) -> None:
    """Drift names it, the cluster's memory dates it, and the rollback ends it; its own undo brings it back."""
    name = "llama-405b"
    before = c.kube.deployments.get("models", name).template
    bad = json.loads(json.dumps(before))
    bad["spec"]["containers"][0]["args"].append("--no-such-option")
    began = datetime.now(UTC) - timedelta(seconds=2)
    try:
        c.kube.deployments.put_template("models", name, bad)
        found = [difference for difference in drift.differences(c.plan, c.kube) if difference.name == name]
        assert any("--no-such-option" in str(difference) for difference in found)
        previous = rollback.find(ctx, "models", name)
        assert previous is not None
        assert "--no-such-option" in previous.said
        assert any(change.at >= began and "args" in change.what for change in changes.recent(ctx, "models", name))
        rollback.roll_back(ctx, previous)
        assert "--no-such-option" not in json.dumps(c.kube.deployments.get("models", name).template)
        rollback.undo(ctx, "act")
        assert "--no-such-option" in json.dumps(c.kube.deployments.get("models", name).template)
    finally:
        c.kube.deployments.put_template("models", name, before)
        c.kube.deployments.until_settled("models", name, timeout=SOON)


def test_a_model_is_scaled_within_its_pool(ctx: Acting, c: Clients) -> None:
    """More than the pool holds is refused; a step within it is undone, unless somebody scaled since."""
    largest = scaling.room(ctx, "llama-405b").largest
    assert scaling.scale(ctx, "llama-405b", largest + 1).verdict is Verdict.STOP
    before = scaling.room(ctx, "llama-405b").live
    try:
        scaling.scale(ctx, "llama-405b", before + 1)
        assert c.kube.deployments.until_settled("models", "llama-405b", timeout=SOON)
        assert "left at" not in scaling.undo(ctx, "act").said
        assert scaling.room(ctx, "llama-405b").live == before
        c.kube.deployments.scale("models", "llama-405b", before + 2)
        assert "left at" in scaling.undo(ctx, "act").said
    finally:
        c.kube.deployments.scale("models", "llama-405b", before)
