"""A stack whose cluster is gone is taken down by the one command that the README tells, by Pulumi's own provider."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tools import pulumi, pulumi_kubernetes

REPO = Path(__file__).resolve().parents[2]
URN = "urn:pulumi:bare-b300::railwright::"
PROVIDER_ID = "11111111-1111-4111-8111-111111111111"
KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "https://127.0.0.1:PORT"}}]
users: [{name: a, user: {token: none}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
"""


def told() -> str:
    """The command of the README for a cluster that is gone."""
    (line,) = [line for line in (REPO / "README.md").read_text().splitlines() if "DELETE_UNREACHABLE=" in line]
    return line.partition("#")[0].strip()


def state(kubeconfig: Path) -> dict[str, Any]:
    """What Pulumi remembers of the example on bare metal, with three releases, after an update."""
    graph = yaml.safe_load((REPO / "tests/graph/golden/bare-b300.yaml").read_text(encoding="utf-8"))
    # A release is a release: Kueue's, which the example has not, is one more of them.
    release = next(item for item in graph["resources"] if item["name"] == "gpu-operator-release")
    items = {item["name"]: item for item in [*graph["resources"], {**release, "name": "queues-operator"}]}
    order = TopologicalSorter({name: set(_named(item)) & set(items) for name, item in items.items()})
    return {
        "version": 3,
        "deployment": {"resources": [_remembered(items, n, kubeconfig) for n in order.static_order()]},
    }


def _named(item: dict[str, Any]) -> Iterator[str]:
    yield from (*item["depends_on"], item["parent"], item["provider"])


def _remembered(items: dict[str, Any], name: str, kubeconfig: Path) -> dict[str, Any]:
    item = items[name]
    urns = {key: f"{URN}{one['type']}::{key}" for key, one in items.items()}
    kept = {"urn": urns[name], "type": item["type"], "custom": item["type"].startswith(("kubernetes:", "pulumi:prov"))}
    kept |= {"parent": urns[item["parent"]]} if item["parent"] in urns else {}
    if not kept["custom"]:
        return kept
    inputs = {"kubeconfig": str(kubeconfig)} if item["type"].startswith("pulumi:providers") else item["inputs"]
    kept |= {"id": PROVIDER_ID, "inputs": inputs, "outputs": inputs}
    kept |= {"provider": f"{urns[item['provider']]}::{PROVIDER_ID}"} if item["provider"] in urns else {}
    return {**kept, "dependencies": [urns[other] for other in item["depends_on"] if other in urns]}


class Project:
    """A project of its own with Pulumi's state of the example."""

    def __init__(self, folder: Path, port: int) -> None:
        self.work, program = folder / "work", Path(pulumi())
        plugin = folder / "home/plugins/resource-kubernetes-v4.25.0/pulumi-resource-kubernetes"
        for path in (plugin.parent, folder / "state", folder / "tmp", self.work):
            path.mkdir(parents=True)
        shutil.copy(pulumi_kubernetes(), plugin)
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("PULUMI_")} | {
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": (folder / "state").as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "none",
            "PULUMI_SKIP_UPDATE_CHECK": "1",
            "TMPDIR": str(folder / "tmp"),
        }
        (folder / "kubeconfig").write_text(KUBECONFIG.replace("PORT", str(port)))
        (self.work / "Pulumi.yaml").write_text("{name: railwright, runtime: python}")
        (folder / "state.json").write_text(json.dumps(state(folder / "kubeconfig")))
        self.run("stack", "init", "bare-b300")
        self.run("stack", "import", "--file", str(folder / "state.json"))

    def run(self, *words: str, **more: str) -> str:
        """What Pulumi prints, which must succeed within a minute."""
        command, env = ["pulumi", *words], {**self.env, **more}
        done = subprocess.run(command, cwd=self.work, env=env, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        return done.stdout

    def left(self) -> list[str]:
        """Names of what the state still has."""
        kept = json.loads(self.run("stack", "export"))["deployment"].get("resources", [])
        return [item["urn"].rpartition("::")[2] for item in kept]


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and says nothing, as behind a load balancer that lost its hosts."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def destroyed(project: Project) -> None:
    """By the words of the README, without being asked."""
    first, *words = shlex.split(told().replace("-s lab", "-s bare-b300"))
    name, _, value = first.partition("=")
    project.run(*words[1:], "--yes", "--skip-preview", **{name: value})


@pytest.mark.parametrize("golden", sorted((REPO / "tests/graph/golden").glob("*-*.yaml")), ids=lambda path: path.stem)
def test_variables_of_the_provider_are_not_overruled(golden: Path) -> None:
    """Those that the README tells work only where the program does not set the same; a variable gives way to it."""
    found = yaml.safe_load(golden.read_text(encoding="utf-8")).get("resources", [])
    said = [set(item["inputs"]) for item in found if item["type"] == "pulumi:providers:kubernetes"]
    assert said == [{"kubeconfig", "clusterIdentifier"}] * bool(found)


def test_a_stack_whose_cluster_is_gone_is_destroyed_with_its_releases(tmp_path: Path) -> None:
    """pulumi-kubernetes#2675, #2817: "can't delete Helm Release with unreachable cluster", unless it is refreshed."""
    project = Project(tmp_path, port=1)
    assert {"gpu-operator-release", "network-operator", "queues-operator"} <= set(project.left())
    destroyed(project)
    assert project.left() == []


def test_a_cluster_that_never_answers_does_not_hang_a_destroy(tmp_path: Path, silent: int) -> None:
    """Twice ten seconds for TLS, once for the whole stack and not for each object."""
    project = Project(tmp_path, port=silent)
    destroyed(project)
    assert project.left() == []
