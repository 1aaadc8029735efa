"""The lab that lives in this clone, for tests that ask it questions."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import yaml

from lab import env, keys, paths, stack_file
from lab.cluster import registry
from lab.cluster.lab import Lab, remembered, this_clone
from lab.cluster.status import Row, status

Change = Callable[[dict[str, Any]], None]
"""A change of the stack's sections, in place."""

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


def serving_lab() -> Lab:
    """The living full lab with its stack in it; skips the test when it serves nothing."""
    lab = full_lab()
    if not kubectl(lab, "--namespace=gateway", "get", "deployment", "gateway", "--ignore-not-found"):
        pytest.skip("the lab of this clone has no stack; `lab up` brings it")
    return lab


def client(key: str, **options: Any) -> openai.OpenAI:
    """The official client with one of the stack's keys; it tries once, so that no failure hides behind a retry."""
    # A proxy for the internet knows nothing of the lab's addresses.
    http = httpx.Client(trust_env=False, timeout=60)
    options = {"api_key": keys.value(key), "max_retries": 0, "http_client": http, **options}
    return openai.OpenAI(base_url=env.gateway_url(), **options)


def pulumi(*arguments: str, succeeds: bool = True, seconds: float = 420) -> str:
    """Run plain pulumi in the environment of `lab env`, for so many seconds at most; all that it prints."""
    variables = env.for_programs()
    program = shutil.which("pulumi", path=variables["PATH"])
    assert program, "pulumi is not there; `lab up` builds it"
    argv = [program, *arguments, "--non-interactive", "--color=never"]
    done = subprocess.run(
        argv, env=variables, cwd=paths.repo_root(), capture_output=True, text=True, check=False, timeout=seconds
    )
    assert (done.returncode == 0) is succeeds, (
        f"pulumi {' '.join(arguments)}:\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"
    )
    return done.stdout


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


@contextmanager
def changed_stack(folder: Path, always: Change = lambda spec: None) -> Iterator[Callable[[Change], None]]:
    """Bring up the lab's stack with changes in it, one set after the other; at the end, as it is written.

    Args:
        folder: where the changed stack file lies; Pulumi does not mind, relative paths in it start at the clone.
        always: what is changed every time.
    """
    file = folder / "Pulumi.lab.yaml"

    def bring_up(change: Change) -> None:
        content = yaml.safe_load(stack_file.path().read_text())
        sections = {name.removeprefix("railwright:"): value for name, value in content["config"].items()}
        always(sections)
        change(sections)
        content["config"] = {name if ":" in name else f"railwright:{name}": part for name, part in sections.items()}
        file.write_text(yaml.safe_dump(content, sort_keys=False))
        pulumi("up", "--yes", "--skip-preview", "--stack=lab", f"--config-file={file}")

    try:
        yield bring_up
    finally:
        pulumi("up", "--yes", "--skip-preview", "--stack=lab")
        pulumi("preview", "--stack=lab", "--expect-no-changes")


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
