"""Which part of the control plane is named, with and without the API server and Prometheus."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runbooks.cluster.restore_control_plane import RestoreControlPlane
from runbooks.engine.result import Exit
from runbooks.lib.prometheus import Sample
from tests.unit.runbooks.fakes import offered, said
from tests.unit.runbooks.host_fakes import Cluster, Prometheus, Ssh, World

DOWN = {"start_service", "silence"}

CASES: dict[str, tuple[Cluster, dict[str, Any], dict[str, str], str, set[str]]] = {
    "etcd": (
        Cluster(api_down=True), {'up{job="etcd"}': 1.0}, {"lab-0/etcd": "stopped"},
        "host lab-0: etcd does not run (service etcd is stopped)", DOWN,
    ),
    "API server": (
        Cluster(api_down=True), {'up{job="apiserver"}': 1.0}, {"lab-0/kube-apiserver": "stopped"},
        "host lab-0: kube-apiserver does not run", DOWN,
    ),
    "API server hangs": (
        Cluster(api_down=True), {}, {"lab-0/kube-apiserver": "paused"}, "kube-apiserver hangs (stopped", DOWN,
    ),
    "API server, nothing stopped": (
        Cluster(api_down=True), {}, {}, "the API server (kube-apiserver) is down: API server", {"silence"},
    ),
    "coredns": (
        Cluster(), {'up{job="coredns"}': 1.0}, {"lab-0/coredns": "stopped"}, "host lab-0: coredns does not run", DOWN,
    ),
    "SERVFAIL": (Cluster(), {"SERVFAIL": 0.9}, {}, "answers of DNS (coredns) are SERVFAIL", {"silence"}),
    "no leader": (Cluster(), {"etcd_server_has_leader": 0.0}, {}, "etcd has no leader", {"silence"}),
    "containerd": (
        Cluster(), {"kubelet_runtime": [Sample({"host": "lab-1"}, 5.0)]}, {"lab-1/containerd-1": "stopped"},
        "host lab-1: containerd does not run (service containerd-1 is stopped)", DOWN,
    ),
    "containerd seen by kubelet": (
        Cluster(), {"kubelet_runtime": [Sample({"host": "lab-1"}, 5.0)]}, {},
        "the container runtime (containerd) of host lab-1 does not answer its kubelet", {"silence"},
    ),
    "starting": (Cluster(), {}, {"lab-0/etcd": "starting"}, "etcd is starting", {"silence"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_part_is_named_and_answered(case: str, tmp_path: Path) -> None:
    """The diagnosis ends well whether the API server answers or not, and offers what helps."""
    cluster, answers, states, words, offers = CASES[case]
    result = World(cluster, Prometheus(answers), hosts=Ssh(states=states)).run(RestoreControlPlane, tmp_path)
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers)


def test_a_control_plane_that_is_well_offers_nothing(tmp_path: Path) -> None:
    """Nothing found, nothing to do."""
    result = World().run(RestoreControlPlane, tmp_path)
    assert (result.exit, offered(result)) == (Exit.DONE, set())


def test_ssh_alone_is_enough(tmp_path: Path) -> None:
    """Without API server and Prometheus the part that is stopped is still named."""
    world = World(Cluster(api_down=True), Prometheus(is_down=True), hosts=Ssh(states={"lab-0/etcd": "stopped"}))
    result = world.run(RestoreControlPlane, tmp_path)
    assert (result.exit, "etcd does not run" in said(result)) == (Exit.DONE, True)


def test_nobody_to_ask_is_cannot_tell(tmp_path: Path) -> None:
    """Without hosts and Prometheus nothing is known."""
    world = World(Cluster(api_down=True), Prometheus(is_down=True), hosts=Ssh(silent=("lab-0", "lab-1")))
    assert world.run(RestoreControlPlane, tmp_path).exit is Exit.UNKNOWN


def test_parts_start_in_the_order_of_their_needs(tmp_path: Path) -> None:
    """etcd before the API server; only what does not run."""
    world = World(hosts=Ssh(states={"lab-0/kube-apiserver": "stopped", "lab-0/etcd": "paused"}))
    result = world.run(RestoreControlPlane, tmp_path, do="start_service", yes=True)
    assert (result.exit, world.hosts.written) == (Exit.DONE, ["continue lab-0/etcd", "start lab-0/kube-apiserver"])


def test_what_runs_is_not_started(tmp_path: Path) -> None:
    """``do`` that the findings do not call for stops before any write."""
    world = World()
    assert world.run(RestoreControlPlane, tmp_path, do="start_service", yes=True).exit is Exit.REFUSED
    assert world.hosts.written == []
