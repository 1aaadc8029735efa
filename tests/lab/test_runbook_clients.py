"""The runbooks' clients against the running lab: the real API server, hosts that only exist in it, the real gateway."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from infra.errors import ConfigError, Unknown
from lab.cluster.lab import Lab
from runbooks.engine.lock import Lock
from runbooks.lib import clients, leases
from runbooks.lib.clients import Clients
from runbooks.lib.endpoint import Endpoint
from runbooks.lib.kubernetes.api import Api, Refused
from runbooks.lib.prometheus import Prometheus
from tests.lab.living_lab import kubectl, serving_lab
from tests.lab.simulated_hosts import HOST, OTHER, left_as_found
from tests.unit.runbooks.lib.acting import Acting

SOON = timedelta(seconds=60)


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


@pytest.fixture
def ctx(lab: Lab) -> Acting:
    return Acting()


@pytest.fixture
def c(ctx: Acting) -> Clients:
    return clients.of(ctx)


@pytest.fixture
def hosts_as_before(lab: Lab) -> Iterator[None]:
    with left_as_found(lab):
        yield


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
    """It is ready, answers a request, and the Envoy that passed it on counts it."""
    pods, count = [pod.name for pod in c.kube.pods.of_gateway()], "http.api.downstream_rq_completed"
    before = sum(c.gateway.stats(pod, count)[count] for pod in pods)
    answer = c.gateway.ask("tiny")
    assert (answer.status, answer.tokens) == (200, 1)
    assert c.gateway.is_ready()
    assert sum(c.gateway.stats(pod, count)[count] for pod in pods) > before
    assert all("LIVE" in c.gateway.admin(pod, "/server_info") for pod in pods)


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


def test_prometheus_answers_alike_on_both_ways(c: Clients) -> None:
    """At its node port, for when the API server is down, and by way of the API server."""
    where = c.stack.monitoring("prometheus")
    if not where.url or c.kube.get("v1", "Service", "monitoring", "prometheus") is None:
        pytest.skip("the lab's stack has no monitoring")
    proxied = Prometheus(Endpoint("Prometheus", "", c.kube.api, where.service))
    query = 'count by (job) (up{job="$job"})'
    assert c.prometheus.value(query, job="kubelet") == proxied.value(query, job="kubelet") == 2
    for prometheus in (c.prometheus, proxied):
        with pytest.raises(Unknown, match="no data"):
            prometheus.value('up{job="$job"}', job="no-such-job")
        with pytest.raises(ConfigError, match="parse error"):
            prometheus.value("sum(up")


def test_a_silence_of_the_lab_is_our_own(c: Clients) -> None:
    """Made and ended; the lab has no more silences of ours than before."""
    if c.kube.get("v1", "Service", "monitoring", "alertmanager") is None:
        pytest.skip("the lab's stack has no monitoring")
    made = c.alertmanager.silence({"alertname": "NoSuchAlert"}, lasts=timedelta(minutes=1), comment="a test")
    assert [silence.id for silence in c.alertmanager.own()] == [made]
    c.alertmanager.expire(made)
    assert not c.alertmanager.own()


def test_hosts_are_seen_from_inside(c: Clients) -> None:
    """By ssh with the lab's own keys; its supervision tells the state of parts."""
    if not c.stack.ssh_config.exists():
        pytest.skip("this lab has no ssh yet; `lab up` brings it")
    assert c.hosts.ask("lab-1", ["sh", "-c", "exit 4"]).rc == 4
    assert c.hosts.service_state("lab-0", "kwok") == "running"
    with pytest.raises(ConfigError, match="no-such-part"):
        c.hosts.service("lab-0", "no-such-part", "stop")


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
