"""The fleet on the living lab: pools become hosts that are Ready, change and go."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lab import paths
from lab.cluster import status

POOL = "fleet-test"
"""A pool that no stack has."""

SECONDS = 90.0
"""Longest wait for a change of a few hosts (s)."""


def kubectl(*arguments: str, given: object = None) -> str:
    """Run kubectl as the administrator."""
    argv = [str(paths.bin_dir() / "kubectl"), f"--kubeconfig={paths.state_dir() / 'kubeconfig'}", *arguments]
    text = None if given is None else json.dumps(given)
    return subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout


def nodes(selector: str = f"lab.railwright.dev/nodepool={POOL}") -> list[dict[str, Any]]:
    """Nodes with these labels."""
    found: list[dict[str, Any]] = json.loads(kubectl("get", "nodes", "-o=json", f"--selector={selector}"))["items"]
    return found


def eventually(claim: Callable[[], bool]) -> bool:
    """Whether the claim comes true in time."""
    end = time.monotonic() + SECONDS
    while not claim():
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True


def apply(hosts: int, labels: dict[str, str] | None = None) -> None:
    """Make or change the pool."""
    template = {"labels": labels or {}, "capacity": {"cpu": "8", "pods": "110", "nvidia.com/gpu": "8"}}
    spec = {"hosts": hosts, "hostsPerLeaf": 2, "template": template}
    head = {"apiVersion": "lab.railwright.dev/v1", "kind": "NodePool", "metadata": {"name": POOL}}
    kubectl("apply", "--server-side", "--filename=-", given={**head, "spec": spec})


@pytest.fixture(autouse=True)
def pool() -> Iterator[None]:
    """A pool of three hosts that are Ready, gone afterwards."""
    if "fleet" not in {row.part for row in status.status().rows if row.state == "works"}:
        pytest.skip("no living lab with a fleet in this clone; run `lab up` first")
    apply(3)
    try:
        kubectl("wait", f"nodepool/{POOL}", "--for=condition=Ready", f"--timeout={SECONDS:.0f}s")
        yield
    finally:
        kubectl("delete", "nodepool", POOL, "--ignore-not-found", f"--timeout={SECONDS:.0f}s")


def test_hosts_are_ready_and_grouped_by_leaf() -> None:
    """When the pool says Ready, each host is, with its GPUs allocatable and its leaf named."""
    leaves = {node["metadata"]["name"]: node["metadata"]["labels"]["railwright.dev/leaf"] for node in nodes()}
    assert leaves == {
        f"{POOL}-0000": f"{POOL}-leaf-0",
        f"{POOL}-0001": f"{POOL}-leaf-0",
        f"{POOL}-0002": f"{POOL}-leaf-1",
    }
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in nodes()} == {"8"}


def test_scaling_takes_the_highest_hosts_first() -> None:
    """From three hosts to one, the first stays; its uid shows that it is the same."""
    first = nodes()[0]["metadata"]["uid"]
    apply(1)
    assert eventually(lambda: [node["metadata"]["uid"] for node in nodes()] == [first])


def test_a_template_change_reaches_living_hosts() -> None:
    """A new label arrives without any host being made anew."""
    before = {node["metadata"]["uid"] for node in nodes()}
    apply(3, {"example.com/colour": "red"})
    assert eventually(lambda: {node["metadata"]["uid"] for node in nodes("example.com/colour=red")} == before)


def test_a_host_that_was_deleted_comes_back() -> None:
    """The pool says how many hosts there are."""
    kubectl("delete", "node", f"{POOL}-0001", "--wait=true")
    assert eventually(lambda: f"{POOL}-0001" in {node["metadata"]["name"] for node in nodes()})


def test_a_deleted_pool_leaves_no_host_and_no_heartbeat() -> None:
    """Hosts and their leases go with the pool, and other hosts stay."""
    others = {node["metadata"]["name"] for node in nodes(f"lab.railwright.dev/nodepool!={POOL}")}
    kubectl("delete", "nodepool", POOL, f"--timeout={SECONDS:.0f}s")
    assert nodes() == []
    assert eventually(lambda: POOL not in kubectl("get", "leases", "--namespace=kube-node-lease", "--output=name"))
    assert {node["metadata"]["name"] for node in nodes(f"lab.railwright.dev/nodepool!={POOL}")} == others
