"""What each stack declares, recorded once per run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.catalog.monitoring import PUBLISHED
from lab import paths

REPO = Path(__file__).resolve().parents[2]
KEY_VALUE = "test-value-of-key-{}-0123456789abcdef"
"""Value of each key in a recorded stack; must show up nowhere."""
IMAGES = ("gateway", "vllm-cpu", *(part for part in PUBLISHED if part != "dcgm-exporter"))
"""Images that the lab builds."""

Graph = dict[str, Any]
Record = Callable[[str, dict[str, Any]], Graph]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Goldens are rewritten on demand only."""
    parser.addoption("--update-golden", action="store_true", help="write tests/graph/golden/*.yaml anew")


@pytest.fixture(scope="session")
def record_whole(tmp_path_factory: pytest.TempPathFactory) -> Record:
    """Run the program for a stack's config, in a clone of its own."""
    done: dict[str, Graph] = {}

    def run(stack: str, config: dict[str, Any]) -> Graph:
        known = json.dumps([stack, config], sort_keys=True)
        if known not in done:
            done[known] = record_in(tmp_path_factory.mktemp(stack), stack, config)
        return done[known]

    return run


@pytest.fixture(scope="session")
def record(record_whole: Record) -> Record:
    """The same, as it is compared with golden files."""

    def run(stack: str, config: dict[str, Any]) -> Graph:
        graph = record_whole(stack, config)
        return {**graph, "resources": [{**item, "inputs": _short(item)} for item in graph["resources"]]}

    return run


def _short(item: Graph) -> dict[str, Any]:
    """Leave out what is another's text and has tests of its own: definitions of kinds, rules and dashboards."""
    kind, inputs = item["type"].rpartition(":")[2], dict(item["inputs"])
    if kind == "CustomResourceDefinition":
        versions = [version["name"] for version in inputs["spec"]["versions"]]
        return {**inputs, "spec": {**inputs["spec"], "versions": versions}}
    if kind == "PrometheusRule":
        groups = [group["name"] for group in inputs["spec"]["groups"]]
        return {**inputs, "spec": {"groups": groups}}
    if inputs.get("metadata", {}).get("labels", {}).get("grafana_dashboard"):
        return {**inputs, "data": sorted(inputs["data"])}
    return inputs


def config_of(stack: str) -> dict[str, Any]:
    """Config of a stack in the repository."""
    content: dict[str, Any] = yaml.safe_load((REPO / f"stacks/Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    return dict(content["config"])


def record_in(root: Path, stack: str, config: dict[str, Any]) -> Graph:
    """Run the program for a stack's config in a folder that stands for the clone."""
    for name, key in config.get("railwright:keys", {}).items():
        value = KEY_VALUE.format(name)
        if "secret" in key:
            key["secret"] = value
        else:
            _write(root / key["secret_file"], value)
    digests = {f"docker.io/railwright/{name}": f"sha256:{number:064x}" for number, name in enumerate(IMAGES, start=1)}
    _write(root / ".lab/images.json", json.dumps(digests))
    _write(root / ".lab/kubeconfig", "unread")
    _write(root / f"Pulumi.{stack}.yaml", yaml.safe_dump({"config": config}))
    # Lists of machines, which a stack names from the clone's root.
    shutil.copytree(REPO / "stacks", root / "stacks")
    result = root / "result.json"
    command = [
        sys.executable,
        str(REPO / "tests/graph/record.py"),
        str(root / f"Pulumi.{stack}.yaml"),
        str(root),
        str(result),
    ]
    env = {**os.environ, **_bytecode(), "PYTHONPATH": str(REPO), "KUBECONFIG": str(root / ".lab/kubeconfig")}
    ended = subprocess.run(command, capture_output=True, text=True, env=env, cwd=REPO, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr[-3000:]
    graph: Graph = json.loads(result.read_text(encoding="utf-8"))
    return graph


def _bytecode() -> dict[str, str]:
    """Where compiled SDKs are kept if not beside them, as the lab's language host does; else each run takes seconds."""
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(paths.state_dir() / "pycache")}
    return kept if sys.dont_write_bytecode else {}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
