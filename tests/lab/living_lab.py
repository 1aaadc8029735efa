"""The lab that lives in this clone, for tests that ask it questions."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from lab import paths
from lab.cluster import registry
from lab.cluster.lab import Lab, remembered, this_clone
from lab.cluster.status import Row, status

ECHO = Path(__file__).with_name("echo.yaml")
"""The pods that the tests talk to."""


def full_lab() -> Lab:
    """The living full lab of this clone; skips the test when there is none."""
    network, record = remembered(paths.state_dir()), registry.read(paths.lab_id())
    if network is None or record is None or not record.is_alive:
        pytest.skip("no lab lives in this clone; `lab up` starts one")
    if record.simulated:
        pytest.skip("the lab of this clone is simulated; this test needs a real node")
    return this_clone(network)


def kubectl(lab: Lab, *arguments: str, given: str = "") -> str:
    """Run kubectl as the administrator; what it prints."""
    argv = [lab.tool("kubectl"), f"--kubeconfig={lab.kubeconfig}", *arguments]
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def get(lab: Lab, *arguments: str) -> Any:
    """One object or list, as data."""
    return json.loads(kubectl(lab, "get", *arguments, "--output=json"))


@contextmanager
def echo_pods(lab: Lab) -> Iterator[set[str]]:
    """Names of two pods behind a Service and a node port; gone afterwards."""
    kubectl(lab, "apply", f"--filename={ECHO}")
    try:
        kubectl(lab, "--namespace=lab-test", "rollout", "status", "deployment/echo", "--timeout=120s")
        pods = get(lab, "pods", "--namespace=lab-test", "--selector=app=echo")["items"]
        yield {pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]}
    finally:
        kubectl(lab, "delete", "--ignore-not-found", "--timeout=90s", f"--filename={ECHO}")


def rows() -> dict[str, Row]:
    """How each part stands."""
    return {row.part: row for row in status().rows}


def eventually(what: Callable[[], Any], seconds: float = 180.0) -> Any:
    """Ask until the answer is true; the last answer or failure is what the test shows otherwise."""
    deadline, last = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        try:
            if last := what():
                return last
        except (AssertionError, OSError, LookupError, httpx.HTTPError) as error:
            last = error
        time.sleep(0.5)
    raise AssertionError(f"not within {seconds:.0f} s; last seen: {last!r}")
