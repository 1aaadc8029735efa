"""The fleet: which hosts a pool has, what changes on them, and what is left alone."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lab.fleet import hosts
from lab.fleet.cluster import NODES, POOLS, ApiError
from lab.fleet.controller import BACKOFF_SECONDS, FINALIZER, Controller

READY = [{"type": "Ready", "status": "True"}]
"""Conditions of a node that works."""


def pool(count: int = 3, **template: Any) -> dict[str, Any]:
    """A pool of B300 hosts, two to a leaf."""
    default = {
        "labels": {"railwright.dev/board": "hgx-b300"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        "capacity": {"nvidia.com/gpu": 8, "rdma/hca": "8"},
    }
    meta = {"name": "b300", "uid": "u1", "generation": 1, "resourceVersion": "1", "finalizers": [FINALIZER]}
    return {"metadata": meta, "spec": {"hosts": count, "hostsPerLeaf": 2, "template": {**default, **template}}}


class FakeCluster:
    """An API server in a dictionary that plays KWOK too: each node is ready at once."""

    def __init__(self, *pools: dict[str, Any]) -> None:
        self.objects: dict[str, dict[str, Any]] = {f"{POOLS}/{p['metadata']['name']}": p for p in pools}
        self.writes: list[str] = []
        self.errors: list[Exception] = []

    def of(self, folder: str) -> list[dict[str, Any]]:
        """All objects of a kind, as a client gets them."""
        return [copy.deepcopy(o) for path, o in self.objects.items() if path.startswith(folder)]

    def pools(self) -> tuple[list[dict[str, Any]], str]:
        """All pools, or the next error."""
        if self.errors:
            raise self.errors.pop(0)
        return self.of(POOLS), "1"

    def nodes(self) -> list[dict[str, Any]]:
        """All nodes that carry a pool's name."""
        return [node for node in self.of(NODES) if hosts.OWNER in node["metadata"]["labels"]]

    def pods(self) -> list[dict[str, Any]]:
        """All pods."""
        return self.of("/api/v1/namespaces/")

    def nodes_at(self) -> tuple[list[dict[str, Any]], str]:
        """All nodes that carry a pool's name, and the version to watch from."""
        return self.nodes(), "1"

    def events(self, path: str, version: str, seconds: int) -> Iterator[dict[str, Any]]:
        """No events: time passes."""
        return iter(())

    def send(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Do a write and note it."""
        self.writes.append(f"{verb} {path}")
        if verb == "POST":
            assert body is not None
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                return None
            self.objects[path] = merge({"metadata": {"resourceVersion": "1"}, "status": {"conditions": READY}}, body)
        elif verb == "PATCH" and (path := path.removesuffix("/status")) in self.objects:
            self.objects[path] = merge(self.objects[path], body or {})
        elif verb == "DELETE":
            return self.objects.pop(path, None)
        return self.objects.get(path)


def merge(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a JSON merge patch. Source: RFC 7396."""
    merged = dict(old)
    for key, value in patch.items():
        merged[key] = merge(merged.get(key) or {}, value) if isinstance(value, Mapping) else value
    return {key: value for key, value in merged.items() if value is not None}


def settled(cluster: FakeCluster) -> FakeCluster:
    """The cluster after the controller had its time; writes before are forgotten."""
    for _ in range(3):
        Controller(cluster, now=lambda: "2026-12-01T00:00:00Z").once()
    return cluster


def names(cluster: FakeCluster) -> list[str]:
    """Names of all nodes."""
    return sorted(node["metadata"]["name"] for node in cluster.of(NODES))


def test_a_pool_gets_its_hosts_with_leaves_and_resources() -> None:
    """Hosts are numbered, two to a leaf, with the template's labels, taints and devices, and KWOK plays them."""
    cluster = settled(FakeCluster(pool(3)))
    assert names(cluster) == ["b300-0000", "b300-0001", "b300-0002"]
    last = cluster.objects[f"{NODES}/b300-0002"]
    assert last["metadata"]["labels"]["railwright.dev/leaf"] == "b300-leaf-1"
    assert last["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
    assert last["status"]["allocatable"] == {"nvidia.com/gpu": "8", "rdma/hca": "8"}
    assert last["spec"]["taints"][0]["key"] == "nvidia.com/gpu"


def test_the_last_hosts_of_a_pool_are_its_spares() -> None:
    """The scheduler takes them last, and no other host says that it is one."""
    made = pool(3)
    made["spec"]["spareHosts"] = 1
    cluster = settled(FakeCluster(made))
    spares = [
        name for name in names(cluster) if hosts.SPARE in cluster.objects[f"{NODES}/{name}"]["metadata"]["labels"]
    ]
    assert spares == ["b300-0002"]
    taint = {"key": hosts.SPARE, "value": "true", "effect": "PreferNoSchedule"}
    assert taint in cluster.objects[f"{NODES}/b300-0002"]["spec"]["taints"]


def test_a_settled_pool_says_so_and_is_written_no_more() -> None:
    """Status is Ready with the generation seen, and another look writes nothing."""
    cluster = settled(FakeCluster(pool(2)))
    status = cluster.objects[f"{POOLS}/b300"]["status"]
    assert (status["hosts"], status["readyHosts"], status["observedGeneration"]) == (2, 2, 1)
    assert (status["conditions"][0]["status"], status["conditions"][0]["reason"]) == ("True", "AllHostsReady")
    cluster.writes.clear()
    assert settled(cluster).writes == []


def test_scaling_down_takes_the_highest_hosts_with_their_pods() -> None:
    """The highest numbers go first, and nothing of them stays; other hosts' pods do."""
    cluster = settled(FakeCluster(pool(3)))
    for number in (0, 2):
        pod = {"metadata": {"namespace": "d", "name": f"p{number}"}, "spec": {"nodeName": f"b300-000{number}"}}
        cluster.objects[f"/api/v1/namespaces/d/pods/p{number}"] = pod
    cluster.objects[f"{POOLS}/b300"]["spec"]["hosts"] = 1
    settled(cluster)
    assert names(cluster) == ["b300-0000"]
    assert [pod["metadata"]["name"] for pod in cluster.pods()] == ["p0"]
    order = [write for write in cluster.writes if write.startswith(f"DELETE {NODES}")]
    assert sorted(order, reverse=True)[0].endswith("b300-0002")


def test_a_changed_template_is_patched_onto_living_hosts() -> None:
    """New values come, old ones go, and the host itself stays."""
    cluster = settled(FakeCluster(pool(1)))
    cluster.objects[f"{POOLS}/b300"]["spec"]["template"] = {"labels": {"a": "b"}, "capacity": {"nvidia.com/gpu": 4}}
    cluster.writes.clear()
    node = settled(cluster).objects[f"{NODES}/b300-0000"]
    assert node["metadata"]["labels"]["a"] == "b"
    assert "railwright.dev/board" not in node["metadata"]["labels"]
    assert (node["status"]["capacity"], node["spec"]["taints"]) == ({"nvidia.com/gpu": "4"}, [])
    assert not any(write.startswith(("POST", "DELETE")) for write in cluster.writes)


def test_what_others_put_on_a_host_stays() -> None:
    """A cordon, a fault's taint, a label and a lost GPU are not ours to take back, even when the template changes."""
    cluster = settled(FakeCluster(pool(1)))
    node = cluster.objects[f"{NODES}/b300-0000"]
    node["spec"]["taints"].append({"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"})
    node["spec"]["unschedulable"], node["metadata"]["labels"]["theirs"] = True, "x"
    node["status"]["allocatable"]["nvidia.com/gpu"] = "7"
    cluster.objects[f"{POOLS}/b300"]["spec"]["template"]["taints"] = [{"key": "maintenance", "effect": "NoSchedule"}]
    node = settled(cluster).objects[f"{NODES}/b300-0000"]
    assert [taint["key"] for taint in node["spec"]["taints"]] == ["maintenance", "node.kubernetes.io/unreachable"]
    assert (node["spec"]["unschedulable"], node["metadata"]["labels"]["theirs"]) == (True, "x")
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "7"


def test_a_deleted_host_comes_back() -> None:
    """The pool says how many hosts there are, not whoever deleted one."""
    cluster = settled(FakeCluster(pool(2)))
    del cluster.objects[f"{NODES}/b300-0000"]
    assert names(settled(cluster)) == ["b300-0000", "b300-0001"]


def test_a_foreign_node_is_never_touched() -> None:
    """A node of the same name without our label stays as it is, and the pool says which name is taken."""
    foreign = {"metadata": {"name": "b300-0001", "labels": {}, "resourceVersion": "1"}, "spec": {}, "status": {}}
    cluster = FakeCluster(pool(2))
    cluster.objects[f"{NODES}/b300-0001"] = copy.deepcopy(foreign)
    settled(cluster)
    assert cluster.objects[f"{NODES}/b300-0001"] == foreign
    condition = cluster.objects[f"{POOLS}/b300"]["status"]["conditions"][0]
    assert (condition["status"], condition["reason"]) == ("False", "NameTaken")
    assert "'b300-0001'" in condition["message"]


def test_a_deleted_pool_takes_its_hosts_along_and_is_let_go() -> None:
    """The finalizer goes only after the last host."""
    cluster = settled(FakeCluster(pool(2)))
    cluster.objects[f"{POOLS}/b300"]["metadata"]["deletionTimestamp"] = "now"
    Controller(cluster).once()
    assert names(cluster) == []
    assert cluster.objects[f"{POOLS}/b300"]["metadata"]["finalizers"] == [FINALIZER]
    Controller(cluster).once()
    assert cluster.objects[f"{POOLS}/b300"]["metadata"]["finalizers"] == []


def test_hosts_of_a_pool_that_is_gone_go_too() -> None:
    """A pool whose finalizer was taken by force leaves no hosts behind; foreign nodes stay."""
    cluster = settled(FakeCluster(pool(1)))
    del cluster.objects[f"{POOLS}/b300"]
    cluster.objects[f"{NODES}/lab-0"] = {"metadata": {"name": "lab-0", "labels": {}}}
    assert names(settled(cluster)) == ["lab-0"]


def test_a_pool_gets_hosts_only_under_a_finalizer() -> None:
    """Before any host is made, the pool is held; otherwise its hosts could outlive it."""
    cluster = FakeCluster(pool(1))
    cluster.objects[f"{POOLS}/b300"]["metadata"]["finalizers"] = ["other"]
    settled(cluster)
    assert cluster.writes[0] == f"PATCH {POOLS}/b300"
    assert cluster.objects[f"{POOLS}/b300"]["metadata"]["finalizers"] == [FINALIZER, "other"]


def test_an_api_server_that_is_away_is_asked_again_with_growing_waits() -> None:
    """Errors in a row wait longer and longer; the work is done when it answers again."""
    cluster, waits = FakeCluster(pool(1)), list[float]()
    cluster.errors = [ApiError("503")] * (len(BACKOFF_SECONDS) + 1) + [KeyboardInterrupt()]  # type: ignore[list-item] - ends the endless loop
    with pytest.raises(KeyboardInterrupt):
        Controller(cluster).run(waits.append)
    assert waits == [*BACKOFF_SECONDS, BACKOFF_SECONDS[-1]]


@pytest.mark.parametrize("text", ["{", "[]", ""], ids=["no JSON", "no object", "empty"])
def test_a_spoilt_stamp_is_renewed(text: str) -> None:
    """A host whose stamp was damaged is stamped again."""
    cluster = settled(FakeCluster(pool(1)))
    cluster.objects[f"{NODES}/b300-0000"]["metadata"]["annotations"][hosts.STAMP] = text
    node = settled(cluster).objects[f"{NODES}/b300-0000"]
    assert hosts.stamp_of(node) == hosts.wanted(pool(1))[0].stamp


def test_a_pod_that_is_marked_as_lost_late_is_ready_again_too() -> None:
    """After etcd was back, the controller-manager marked a pod 2 s after its host had come back: lost for good."""
    cluster, clock = FakeCluster(pool(1)), iter(range(0, 1_000, 10))
    controller = Controller(cluster, clock=lambda: float(next(clock)))
    controller.once()
    controller.once()
    [host] = cluster.nodes()
    path = "/api/v1/namespaces/models/pods/chat"
    cluster.objects[path] = {
        "metadata": {"name": "chat", "namespace": "models"},
        "spec": {"nodeName": host["metadata"]["name"]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]},
    }
    controller.once()
    assert cluster.objects[path]["status"]["conditions"][0]["status"] == "True"
