"""The runbooks' clients against the running lab: the real API server, hosts that only exist in it, the real gateway."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.errors import CheckError, ConfigError, Unknown
from lab.cluster.lab import Lab
from runbooks.engine.lock import Lock
from runbooks.engine.model import Verdict
from runbooks.lib import changes, clients, drain, drift, leases, rollback, scaling
from runbooks.lib.clients import Clients
from runbooks.lib.kubernetes.api import Api, Refused
from tests.lab.living_lab import get, kubectl, serving_lab
from tests.unit.runbooks.lib.acting import Acting

SPACE = "runbook-test"
"""Namespace of what these tests make; it goes with them."""

HOST, OTHER = "h200-0000", "h200-0001"
"""Two simulated hosts that the lab's stack leaves empty."""

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
    """See that both hosts are left as they were found."""
    before = [_marks(lab, name) for name in (HOST, OTHER)]
    yield
    assert [_marks(lab, name) for name in (HOST, OTHER)] == before


def _marks(lab: Lab, name: str) -> Any:
    node = get(lab, "node", name)
    notes = {key: value for key, value in node["metadata"]["annotations"].items() if "stamp" not in key}
    return node["spec"], notes, node["metadata"]["labels"]


# Reading


def test_what_is_there_is_read(c: Clients) -> None:
    """Hosts with pool and leaf, pods with host and state, Deployments settled."""
    hosts = {host.name: host for host in c.kube.hosts.list()}
    assert (hosts[HOST].pool, hosts[HOST].leaf, hosts[HOST].simulated) == ("h200", "h200-leaf-0", True)
    assert not hosts["lab-0"].simulated
    assert [host.name for host in c.kube.hosts.list(leaf="b300-leaf-1")] == ["b300-0002", "b300-0003"]
    pod = c.kube.pods.of_model("tiny")[0]
    assert (pod.ready, pod.containers[0].state, pod.model) == (True, "running", "tiny")
    assert [found.name for found in c.kube.pods.list("models", host=pod.host)].count(pod.name) == 1


def test_a_command_in_a_pod_has_its_exit_code(c: Clients) -> None:
    """And both of its outputs; one that is not there is refused."""
    name = c.kube.pods.of_model("tiny")[0].name
    done = c.kube.pods.ask("models", name, ["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.rc, done.stdout, done.stderr) == (3, "out\n", "err\n")
    with pytest.raises(Refused, match="no-such-program"):
        c.kube.pods.ask("models", name, ["no-such-program"])
    with pytest.raises(Unknown, match="within 1 s"):
        c.kube.pods.ask("models", name, ["sleep", "5"], timeout=1)


def test_an_engine_tells_its_metrics_by_way_of_the_api_server(c: Clients) -> None:
    """For when Prometheus is down."""
    pod = c.kube.pods.of_model("tiny")[0]
    assert "vllm:num_requests_running{" in c.kube.pods.http("models", pod.name, 8000, "/metrics")
    assert any("GET /" in line for line in c.kube.pods.logs("models", pod.name, tail=50))


def test_the_gateway_is_seen_from_outside_and_inside(c: Clients) -> None:
    """It is ready, answers a request, and Envoy counts it."""
    pod = c.kube.pods.of_gateway()[0]
    count = "http.api.downstream_rq_completed"
    before = c.gateway.stats(pod.name, count)[count]
    answer = c.gateway.ask("tiny")
    assert (answer.status, answer.tokens) == (200, 1)
    assert c.gateway.is_ready()
    assert c.gateway.stats(pod.name, count)[count] > before
    assert "LIVE" in c.gateway.admin(pod.name, "/server_info")


def test_a_page_that_would_end_the_gateway_is_not_asked_for(c: Clients) -> None:
    """The administration has pages that act."""
    for page in ("/quitquitquit", "/healthcheck/fail", "/drain_listeners", "/reset_counters"):
        with pytest.raises(ConfigError, match="may change Envoy"):
            c.gateway.admin("any", page)


def test_what_is_not_there_is_told(c: Clients) -> None:
    """By a sentence with the command to look."""
    for ask in (
        lambda: c.kube.pods.get("models", "nobody"),
        lambda: c.kube.hosts.get("nobody"),
        lambda: c.kube.deployments.get("models", "nobody"),
    ):
        with pytest.raises(ConfigError, match="there is none — see: kubectl get"):
            ask()
    assert c.kube.get("v1", "ConfigMap", "models", "nobody") is None


def test_an_api_server_that_is_away_is_unknown(c: Clients, tmp_path: Path) -> None:
    """Neither an empty list nor a traceback."""
    config = yaml.safe_load(c.stack.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(config))
    with pytest.raises(Unknown, match="no answer"):
        Api(lambda: tmp_path / "kubeconfig").ask("/api/v1/nodes")


# Cordons


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")], ids=["first in first out", "last in first out"])
def test_two_faults_clear_in_either_order(c: Clients, hosts_as_before: None, order: tuple[str, str]) -> None:
    """The host opens with the second that clears."""
    c.kube.hosts.cordon(HOST, "a")
    c.kube.hosts.cordon(HOST, "b")
    c.kube.hosts.uncordon(HOST, order[0])
    assert c.kube.hosts.get(HOST).cordoned
    c.kube.hosts.uncordon(HOST, order[1])
    assert not c.kube.hosts.get(HOST).cordoned


def test_many_faults_at_once_lose_no_reason(lab: Lab, hosts_as_before: None) -> None:
    """Eight writers cordon one host at the same moment, and clear it at the same moment."""
    reasons = [f"fault-{number}" for number in range(8)]
    writers = [clients.of(Acting()).kube.hosts for _ in reasons]
    with ThreadPoolExecutor(len(reasons)) as threads:
        list(threads.map(lambda pair: pair[0].cordon(HOST, pair[1]), zip(writers, reasons, strict=True)))
        assert writers[0].get(HOST).cordoned_by == tuple(reasons)
        list(threads.map(lambda pair: pair[0].uncordon(HOST, pair[1]), zip(writers, reasons, strict=True)))
    assert not writers[0].get(HOST).cordoned


def test_a_cordon_by_hand_survives_ours(lab: Lab, c: Clients, hosts_as_before: None) -> None:
    """And leaves no mark of ours."""
    kubectl(lab, "cordon", HOST)
    try:
        c.kube.hosts.cordon(HOST, "a")
        c.kube.hosts.uncordon(HOST, "a")
        found = c.kube.hosts.get(HOST)
        assert (found.cordoned, found.cordoned_by) == (True, ())
    finally:
        kubectl(lab, "uncordon", HOST)


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
    ctx: Acting, c: Clients, app: Callable[..., str], hosts_as_before: None
) -> None:
    """The replacement never becomes ready: replicas and cordon are as before after undo."""
    name = app("stuck", 1)
    host = c.kube.pods.list(SPACE, labels={"app": name})[0].host
    other = OTHER if host == HOST else HOST
    c.signals.not_ready(other)
    try:
        with pytest.raises(CheckError, match="replacements"):
            # The host is ready when room is counted, and gone before the replacement is.
            drain.drain(ctx, host, timeout=timedelta(seconds=4))
        assert c.kube.hosts.get(host).cordoned
    finally:
        c.signals.ready(other)
        drain.undo(ctx, "act")
    assert c.kube.deployments.get(SPACE, name).replicas == 1
    assert not c.kube.hosts.get(host).cordoned


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


# Locks and signals


def _lock(scope: str, run_id: str) -> Lock:
    now = datetime.now(UTC)
    return Lock(scope, run_id, "test@here", "a test", now, now, timedelta(minutes=1))


def test_of_two_that_take_one_lock_one_gets_it(lab: Lab) -> None:
    """Sixteen at once, and the list shows the winner."""
    scope = "test/scope"
    stores = [leases.for_stack("lab") for _ in range(16)]
    with ThreadPoolExecutor(16) as threads:
        got = list(threads.map(lambda pair: pair[1].create(_lock(scope, f"run-{pair[0]}")), enumerate(stores)))
    held = [lock for lock in stores[0].all() if lock.scope == scope]
    try:
        assert got.count(True) == 1
        assert [lock.run_id for lock in held] == [f"run-{got.index(True)}"]
    finally:
        for lock in held:
            assert stores[0].delete(lock)


def test_a_lock_that_changed_hands_is_neither_renewed_nor_given_back(lab: Lab) -> None:
    """Who read it earlier finds out."""
    store, scope = leases.for_stack("lab"), "test/handed-over"
    assert store.create(_lock(scope, "first"))
    old = next(lock for lock in store.all() if lock.scope == scope)
    try:
        assert store.replace(old, _lock(scope, "second"))
        assert not store.replace(old, _lock(scope, "first"))
        assert not store.delete(old)
    finally:
        assert store.delete(next(lock for lock in store.all() if lock.scope == scope))
    assert not store.delete(old)


def test_a_signal_is_for_simulated_hosts(c: Clients, hosts_as_before: None) -> None:
    """Set, seen and cleared on one; refused on a real one, and refused when it has no meaning."""
    c.signals.set(OTHER, "xid", "3:79")
    assert c.signals.get(OTHER) == {"xid": "3:79"}
    c.signals.clear(OTHER, "xid")
    assert c.signals.get(OTHER) == {}
    for host, signal, value in (
        ("lab-0", "xid", "3:79"),
        (OTHER, "xid", "3"),
        (OTHER, "gpu-lost", "3:1"),
        (OTHER, "x", "1"),
    ):
        with pytest.raises(ConfigError):
            c.signals.set(host, signal, value)


def test_a_simulated_host_falls_silent_and_comes_back(c: Clients, hosts_as_before: None) -> None:
    """As one that lost its power."""
    c.signals.not_ready(OTHER)
    try:
        c.kube.ctx.until(lambda: not c.kube.hosts.get(OTHER).ready, timeout=SOON, what=f"{OTHER} not ready")
    finally:
        c.signals.ready(OTHER)
        c.kube.ctx.until(lambda: c.kube.hosts.get(OTHER).ready, timeout=SOON, what=f"{OTHER} ready")
