"""Programs that tests call, and modules that they are built from."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from lab import paths
from lab.toolchain.builds import build
from lab.toolchain.golang import environment, go_binary, module_folder
from lab.toolchain.table import TOOLS


def promtool() -> str:
    """Path of promtool, from this clone's lab, from its cache or from PATH; without one the test is skipped."""
    return _of_the_lab("prometheus", "promtool")


def alertmanager() -> str:
    """Path of Alertmanager, found in the same places."""
    return _of_the_lab("alertmanager", "alertmanager")


def node_exporter() -> str:
    """Path of node exporter, found in the same places."""
    return _of_the_lab("node_exporter", "node_exporter")


def pulumi() -> str:
    """Path of Pulumi, found in the same places."""
    return _of_the_lab("pulumi", "pulumi")


def pulumi_kubernetes() -> str:
    """Path of Pulumi's provider for Kubernetes, found in the same places."""
    return _of_the_lab("pulumi-resource-kubernetes", "pulumi-resource-kubernetes")


def _of_the_lab(tool: str, program: str) -> str:
    cached = sorted(paths.cache_dir().glob(f"tools/{tool}/*/bin/{program}"))
    found = [path for path in (paths.bin_dir() / program, *reversed(cached)) if path.exists()]
    if path := (str(found[0]) if found else shutil.which(program)):
        return path
    pytest.skip(f"{program} is not built yet; `lab up` builds it")


@cache
def built(name: str) -> str:
    """Path of a small program that no lab needs, built now if it was not yet (half a minute, once per machine)."""
    if go_binary() is None:
        pytest.skip(f"{name} is built by Go, which is not there yet; `lab up` installs it")
    tool = next(tool for tool in TOOLS if tool.name == name)
    return str(build(tool, paths.state_dir() / "logs" / "tools" / f"{name}.log", 2, lambda _: None) / name)


@cache
def module(name: str, path: str) -> Path:
    """Folder of a Go module that a tool is built from, fetched now if it was not yet.

    Args:
        name: of the tool.
        path: of the module.
    """
    go, tool = go_binary(), next(tool for tool in TOOLS if tool.name == name)
    if go is None:
        pytest.skip("Go is not there yet, which fetches the module; `lab up` installs it")
    fetch = [go, "mod", "download", path]
    subprocess.run(fetch, cwd=tool.pins, env=environment(tool), check=True, capture_output=True, timeout=300)
    return module_folder(go, tool, path)
