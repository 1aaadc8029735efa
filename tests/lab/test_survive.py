"""Any one part of the lab may be killed: it comes back by itself, and what ran goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import openai
import pytest

from lab import paths
from lab.cluster import registry, watch
from lab.cluster.hosts import HOSTS
from lab.cluster.lab import Lab
from lab.cluster.namespace import is_linked
from tests.lab.living_lab import client, echo_pods, eventually, full_lab, get, kubectl, rows, serving_lab

CRD = paths.repo_root() / "lab/fleet/nodepool.yaml"
POOL = """
apiVersion: lab.railwright.dev/v1
kind: NodePool
metadata: {name: survive}
spec: {hosts: 3, hostsPerLeaf: 2, template: {capacity: {cpu: "8", pods: "110"}}}
"""
GRACE_SECONDS = 75
"""As long as the controller-manager waits for a host's sign of life, and a little longer (s)."""

PARTS = (
    # First, since what its end could do to hosts shows only a while later.
    "kwok",
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "containerd",
    "kubelet",
    "containerd-1",
    "kubelet-1",
    "kube-proxy",
    "coredns",
    "sshd",
    "fleet",
)


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A lab with two pods behind a node port."""
    living = full_lab()
    with echo_pods(living):
        yield living


@dataclass(frozen=True)
class Hosts:
    """Simulated hosts before anything was killed."""

    ready_since: dict[str, tuple[str, str]]
    seen_at: float


@pytest.fixture(scope="module", autouse=True)
def hosts_before(lab: Lab) -> Iterator[Hosts]:
    """Three simulated hosts that are there throughout."""
    kubectl(lab, "apply", "--server-side", f"--filename={CRD}")
    kubectl(lab, "wait", "--for=condition=Established", f"--filename={CRD}")
    kubectl(lab, "apply", "--filename=-", given=POOL)
    try:
        kubectl(lab, "wait", "nodepool/survive", "--for=condition=Ready", "--timeout=90s")
        yield Hosts(ready_since(lab), time.monotonic())
    finally:
        kubectl(lab, "delete", "nodepool", "survive", "--timeout=90s")


def all_work() -> bool:
    """True when every part answers."""
    return all(row.state == "works" for row in rows().values()) and bool(rows())


def is_answered(lab: Lab) -> bool:
    """True when a request through the node port gets an answer."""
    return httpx.get(f"http://{lab.network.node_ip}:31998/", trust_env=False).is_success


def containers(lab: Lab) -> set[tuple[str, int]]:
    """Container and restarts of each test pod."""
    pods = get(lab, "pods", "--namespace=lab-test", "--selector=app=echo")["items"]
    states = [state for pod in pods for state in pod["status"]["containerStatuses"]]
    return {(state["containerID"], state["restartCount"]) for state in states}


@pytest.mark.parametrize("part", PARTS)
def test_killed_part_comes_back(lab: Lab, part: str) -> None:
    """A part that is killed is started again, every part works, and no container noticed."""
    eventually(all_work)
    before, running = rows()[part].pid, containers(lab)
    os.kill(before, signal.SIGKILL)
    eventually(lambda: rows()[part].pid not in (0, before))
    eventually(all_work)
    assert is_answered(lab)
    assert containers(lab) == running


def ready_since(lab: Lab) -> dict[str, tuple[str, str]]:
    """Whether each simulated host is Ready, and since when."""
    nodes = get(lab, "nodes", "--selector=lab.railwright.dev/nodepool=survive")["items"]
    return {node["metadata"]["name"]: (_ready(node)["status"], _ready(node)["lastTransitionTime"]) for node in nodes}


def test_cut_link_is_made_again(lab: Lab) -> None:
    """The machine's end of the link may be deleted: the watcher makes it again, and nothing restarts."""
    first = registry.living(lab)
    subprocess.run(["ip", "link", "delete", lab.link], check=True)
    eventually(lambda: is_linked(lab.link))
    eventually(all_work)
    eventually(lambda: is_answered(lab))
    assert registry.living(lab) == first


@pytest.mark.parametrize("which", [0, 1], ids=["acting", "waiting"])
def test_killed_watcher_comes_back(lab: Lab, which: int) -> None:
    """The pair is whole again, and the lab did not notice."""
    first = registry.read(lab.lab_id)
    before = eventually(lambda: len(pids := watch.pids(lab.lab_id)) == 2 and pids)
    os.kill(before[which], signal.SIGKILL)
    eventually(lambda: len(pids := watch.pids(lab.lab_id)) == 2 and before[which] not in pids)
    assert registry.read(lab.lab_id) == first


def test_killed_first_process_takes_nothing_with_it(lab: Lab) -> None:
    """Even supervisord, the namespaces' first process, comes back with pods and all."""
    before = registry.living(lab)
    assert before is not None
    os.kill(before.pid, signal.SIGKILL)
    eventually(lambda: (record := registry.living(lab)) and record.pid != before.pid)
    eventually(all_work)
    eventually(lambda: is_answered(lab))
    assert {_ready(get(lab, "node", host.name))["status"] for host in HOSTS} == {"True"}


def test_requests_work_again_after_all_that(lab: Lab) -> None:
    """Gateway and model come back with the lab, and a client gets its answer without anyone's help."""
    serving_lab()
    asked = client("research").chat.completions

    def answer() -> str | None:
        try:
            chat = asked.create(model="tiny", max_tokens=8, messages=[{"role": "user", "content": "Hello"}])
        except openai.APIError as error:
            raise LookupError(str(error)) from error
        return chat.choices[0].message.content

    assert eventually(answer, seconds=300)


def test_simulated_hosts_stay_ready_when_kwok_dies(lab: Lab, hosts_before: Hosts) -> None:
    """Leases outlast the change from one KWOK to the next, and the end of every other part, and of all at once."""
    time.sleep(max(0.0, hosts_before.seen_at + GRACE_SECONDS - time.monotonic()))
    assert all_work()
    assert ready_since(lab) == hosts_before.ready_since


def _ready(node: dict[str, object]) -> dict[str, str]:
    status: dict[str, list[dict[str, str]]] = node["status"]  # type: ignore[assignment]
    return next(condition for condition in status["conditions"] if condition["type"] == "Ready")
