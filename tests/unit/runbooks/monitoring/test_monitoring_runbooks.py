"""Targets that are down, an Alertmanager that hears nothing, a Prometheus without data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.errors import Unknown
from runbooks.engine.result import Exit
from runbooks.lib.kubernetes import views
from runbooks.lib.kubernetes.views import Pod
from runbooks.lib.prometheus import Rule, Sample, ScrapeTarget
from runbooks.monitoring.restore_data import RestoreData
from runbooks.monitoring.restore_target import RestoreTarget
from tests.unit.runbooks import fake_services, fakes
from tests.unit.runbooks.fakes import TINY, offered, said
from tests.unit.runbooks.host_fakes import Cluster, Prometheus, Ssh, World, all_hosts, host

REFUSED = 'Get "http://10.0.0.1:8000/metrics": dial tcp 10.0.0.1:8000: connect: connection refused'
LATE = "context deadline exceeded"


def watcher(part: str, *, ready: bool = True, uid: str = "old") -> Pod:
    """A pod of the monitoring."""
    since = {"lastTransitionTime": fakes.stamp(60)}
    name = f"{part}-0"
    return views.pod(
        {
            "metadata": {"namespace": "monitoring", "name": name, "uid": uid, "creationTimestamp": fakes.stamp(3600),
                         "labels": {"app.kubernetes.io/name": part},
                         "ownerReferences": [{"kind": "StatefulSet", "name": part, "controller": True}]},
            "spec": {"nodeName": "lab-1", "containers": [{"name": part, "image": "x"}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)} | since],
                       "containerStatuses": [{"name": part, "ready": ready, "restartCount": 0,
                                              "state": {"running": {"startedAt": fakes.stamp(3600)}}}]},
        }
    )  # fmt: skip


def target(job: str, error: str, **labels: str) -> ScrapeTarget:
    return ScrapeTarget(job, labels.get("instance", "10.0.0.1:8000"), "down" if error else "up", error, labels)


@dataclass
class Messenger(fake_services.Alertmanager):
    """An Alertmanager that answers, or not."""

    dead: bool = False

    def alerts(self) -> list[Any]:
        if self.dead:
            raise Unknown("Alertmanager — gives no answer — see that it runs")
        return []


def world(
    cluster: Cluster | None = None, prometheus: Prometheus | None = None, ssh: Ssh | None = None, *, dead: bool = False
) -> World:
    """A world whose monitoring is well but for what is given."""
    there = [fakes.pod(), watcher("prometheus"), watcher("alertmanager"), watcher("node-exporter")]
    asked = prometheus or Prometheus(targets_there=[target("vllm", "")])
    asked.answers.setdefault("alertmanagers_discovered", 1.0)
    made = World(cluster or Cluster(pods_there=there), asked, hosts=ssh or Ssh())
    made.alertmanager = Messenger(made.kube, dead=dead)
    return made


CASES: dict[str, tuple[ScrapeTarget, World, str, set[str]]] = {}


def case(name: str, one: ScrapeTarget, words: str, offers: set[str], **changes: Any) -> None:
    CASES[name] = (one, world(prometheus=Prometheus(targets_there=[one]), **changes), words, offers)


case(
    "engine",
    target("vllm", REFUSED, pod=TINY, namespace="models"),
    "target vllm/10.0.0.1:8000 refuses connections: nothing listens there",
    {"silence"},
)
case(
    "exporter hangs",
    target("node-exporter", LATE, pod="node-exporter-0", namespace="monitoring"),
    "pod monitoring/node-exporter-0 is ready, and its metrics do not answer",
    {"restart_pod", "silence"},
)
case(
    "exporter is gone",
    target("node-exporter", LATE, pod="node-exporter-9", namespace="monitoring"),
    "pod monitoring/node-exporter-9 is gone",
    {"silence"},
)
case(
    "kubelet",
    target("kubelet", REFUSED, host="lab-1", instance="lab-1"),
    "host lab-1: kubelet does not run (service kubelet-1 is stopped)",
    {"start_service", "silence"},
    ssh=Ssh(states={"lab-1/kubelet-1": "stopped"}),
)
case(
    "etcd",
    target("etcd", REFUSED, host="lab-0", instance="lab-0"),
    "host lab-0: etcd does not run",
    {"start_service", "silence"},
    ssh=Ssh(states={"lab-0/etcd": "stopped"}),
)
case("host", target("kubelet", "no route to host", host="lab-1", instance="lab-1"),
     "host lab-1, which the target is on, is not ready", {"silence"},
     cluster=Cluster(hosts_there=all_hosts(host("lab-1", ready=False)),
                     pods_there=[watcher("alertmanager")]))  # fmt: skip


@pytest.mark.parametrize("name", CASES, ids=str)
def test_each_target_is_named_with_what_is_behind_it(name: str, tmp_path: Path) -> None:
    """Why the scrape fails, what is wrong behind it, and what helps."""
    one, made, words, offers = CASES[name]
    result = made.run(RestoreTarget, tmp_path, job=one.job, instance=one.instance)
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers)


def test_an_api_server_that_is_the_target_is_named_without_it(tmp_path: Path) -> None:
    """The service behind it is asked over ssh."""
    asked = Prometheus(targets_there=[target("apiserver", REFUSED, instance="10.0.0.2:6443")])
    made = world(Cluster(api_down=True), asked, Ssh(states={"lab-0/kube-apiserver": "stopped"}))
    result = made.run(RestoreTarget, tmp_path, job="apiserver", instance="10.0.0.2:6443")
    assert (result.exit, "host lab-0: kube-apiserver does not run" in said(result)) == (Exit.DONE, True)


def test_targets_that_are_up_offer_nothing(tmp_path: Path) -> None:
    """Nothing found, nothing to do."""
    result = world().run(RestoreTarget, tmp_path)
    assert (result.exit, offered(result)) == (Exit.DONE, set())


def test_a_target_that_nobody_scrapes_is_refused(tmp_path: Path) -> None:
    """A misspelt job is not called up."""
    result = world().run(RestoreTarget, tmp_path, job="vlm")
    assert (result.exit, "its jobs are vllm" in said(result)) == (Exit.REFUSED, True)


def test_no_prometheus_is_cannot_tell(tmp_path: Path) -> None:
    """Targets that nobody scrapes are not called up."""
    assert world(prometheus=Prometheus(is_down=True)).run(RestoreTarget, tmp_path).exit is Exit.UNKNOWN


def test_an_alertmanager_that_is_silent_is_named(tmp_path: Path) -> None:
    """Although Kubernetes calls its pod ready."""
    result = world(dead=True).run(RestoreTarget, tmp_path)
    assert "Alertmanager does not answer" in said(result)
    assert offered(result) == {"restart_pod", "silence"}


def test_an_alertmanager_that_prometheus_does_not_know_is_named(tmp_path: Path) -> None:
    """Alerts that fire reach nobody."""
    made = world()
    made.prometheus.answers["alertmanagers_discovered"] = 0.0
    assert "Prometheus knows of no Alertmanager" in said(made.run(RestoreTarget, tmp_path))


def lacking(metrics: str, count: float = 1.0, **labels: str) -> dict[str, Any]:
    return {"metrics:missing:count": [Sample({"metrics": metrics, **labels}, count)]}


HEARD = [Sample({"host": f"b300-000{n}"}, 1.0) for n in range(3)]
DATA: dict[str, tuple[World, str, set[str]]] = {
    "Prometheus hangs": (
        world(prometheus=Prometheus(is_down=True)),
        "Prometheus does not answer or is not ready: no alert can fire; Prometheus does not answer or is not ready: "
        "no alert can fire, while pod monitoring/prometheus-0 is ready",
        {"restart_pod", "silence"},
    ),
    "Prometheus is not there": (
        world(Cluster(pods_there=[]), Prometheus(is_down=True)), "there is no pod of prometheus in namespace",
        {"silence"},
    ),
    "Prometheus is not ready": (
        world(Cluster(pods_there=[watcher("prometheus", ready=False)]), Prometheus(is_down=True)),
        "pod monitoring/prometheus-0 runs and is not ready", {"restart_pod", "silence"},
    ),
    "rule": (
        world(prometheus=Prometheus(rules_there=[Rule("model:x", "model", "recording", "1", "err", "many-to-many")])),
        "rule model:x of group model fails: many-to-many", {"silence"},
    ),
    "no rules": (world(prometheus=Prometheus(rules_there=[])), "Prometheus has no rules at all", {"silence"}),
    "silent host": (
        world(Cluster(pods_there=[watcher("prometheus")], hosts_there=all_hosts(host("b300-0003", ready=False))),
              Prometheus(lacking("node-exporter", pool="b300") | {"node_memory": HEARD})),
        "metrics of node-exporter are missing: 1 of those that pool b300 should have; host b300-0003 reports no "
        "metrics of node-exporter; it is not ready: see host/recover_host", {"silence"},
    ),
    "engine": (
        world(prometheus=Prometheus(lacking("vllm", model="tiny"))), "metrics of vllm are missing: 1 of those",
        {"silence"},
    ),
    "job": (world(prometheus=Prometheus(lacking("up", job="etcd"))), "1 of those that job etcd", {"silence"}),
    "target": (
        world(prometheus=Prometheus(targets_there=[target("vllm", REFUSED)])), "1 targets are down (vllm/10.0.0.1",
        {"silence"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DATA, ids=str)
def test_each_lack_is_named_and_answered(name: str, tmp_path: Path) -> None:
    """What is missing and who is silent; a Prometheus that is down is itself the finding."""
    made, words, offers = DATA[name]
    result = made.run(RestoreData, tmp_path)
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers)


def test_only_what_is_asked_for_is_told(tmp_path: Path) -> None:
    """Labels of the alert pick among several lacks."""
    made = world(prometheus=Prometheus(lacking("up", job="etcd")))
    assert "are missing" not in said(made.run(RestoreData, tmp_path, job="coredns"))


def test_a_plan_that_prometheus_does_not_know_is_cannot_tell(tmp_path: Path) -> None:
    """Without the plan's own series nothing would ever be missing."""
    made = world(prometheus=Prometheus({"no plan:metrics:count": 1}))
    assert made.run(RestoreData, tmp_path).exit is Exit.UNKNOWN


def test_a_pod_at_fault_is_replaced(tmp_path: Path) -> None:
    """Deleted, and its successor waited for."""
    made = world(Cluster(pods_there=[watcher("prometheus", ready=False), watcher("prometheus", uid="new")]),
                 Prometheus(is_down=True))  # fmt: skip
    result = made.run(RestoreData, tmp_path, do="restart_pod", yes=True)
    assert (result.exit, made.kube.written) == (Exit.DONE, ["delete pod prometheus-0"])
