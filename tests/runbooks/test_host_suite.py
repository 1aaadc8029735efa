"""The suite of host checks itself: three outcomes, one line for a host in the dark, both ways alike."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from infra.config.load import clone_root

pytest.importorskip("testinfra")

ASKED = "kernel_settings.somaxconn or kernel_settings.swappiness"
"""Two settings that every Linux answers."""


@dataclass(frozen=True)
class Run:
    """What a run of the suite came to."""

    code: int
    text: str
    cases: list[tuple[str, str]]
    """Name of each test, and what JUnit calls its outcome: ``""``, ``failure`` or ``error``."""


def _local(**variables: Any) -> dict[str, Any]:
    """This machine, of which nothing but files and programs that only read is asked."""
    known = {"host_pool": "lab", "host_board": "lab-host", "host_fabric": "none", "host_machine": "virtual"}
    return {"ansible_connection": "local", **known, **variables}


def _dead(folder: Path) -> dict[str, Any]:
    """A host behind a port on which nobody listens."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    (folder / "ssh_config").write_text(f"Host *\n  HostName 127.0.0.1\n  Port {port}\n", encoding="utf-8")
    return _local(ansible_connection="ssh", ansible_ssh_common_args=f"-F {folder / 'ssh_config'}")


def _run(folder: Path, hosts: dict[str, Any], *options: str, only: str = ASKED) -> Run:
    (folder / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts}}), encoding="utf-8")
    report = folder / "report.xml"
    argv = [sys.executable, "-m", "pytest", "tests/host", f"--inventory={folder / 'hosts.yml'}", "-k", only]
    argv += [f"--junitxml={report}", "-q", "-p", "no:cacheprovider", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "300"}
    done = subprocess.run(
        argv, cwd=clone_root(), env=environment, capture_output=True, text=True, check=False, timeout=300
    )  # fmt: skip
    cases = []
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314  our own file
            cases.append((case.attrib["name"], next((child.tag for child in case), "")))
    return Run(done.returncode, done.stdout + done.stderr, cases)


def test_all_that_passes_ends_with_0(tmp_path: Path) -> None:
    """Values of the inventory count in place of the catalogue's."""
    run = _run(tmp_path, {"here": _local(kernel_settings_somaxconn=1, kernel_settings_swappiness=200)})
    assert (run.code, [outcome for _, outcome in run.cases]) == (0, ["", ""]), run.text
    assert "here                         2     0            0" in run.text


@pytest.mark.parametrize("options", [(), ("--slow",)], ids=["fast", "slow"])
def test_one_that_fails_ends_with_1(tmp_path: Path, options: tuple[str, ...]) -> None:
    """With what was found, what is wanted and what to do, on the screen and for machines."""
    hosts = {"here": _local(kernel_settings_somaxconn=2**31 - 1, kernel_settings_swappiness=200)}
    run = _run(tmp_path, hosts, *options)
    assert run.code == 1, run.text
    assert dict(run.cases) == {
        "test_setting[here-kernel_settings.somaxconn]": "failure", "test_setting[here-kernel_settings.swappiness]": "",
    }  # fmt: skip
    assert "wanted at least 2147483647 connections — set kernel_settings_somaxconn and play role" in run.text


@pytest.mark.parametrize("options", [(), ("--slow",)], ids=["fast", "slow"])
def test_a_host_in_the_dark_is_one_line_and_ends_with_4(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Not one line for each of its settings; the others are judged all the same."""
    here = _local(kernel_settings_somaxconn=1, kernel_settings_swappiness=200)
    run = _run(tmp_path, {"here": here | {"ansible_ssh_common_args": _dead(tmp_path)["ansible_ssh_common_args"]},
                          "dead": _dead(tmp_path)}, *options)  # fmt: skip
    assert run.code == 4, run.text
    assert sorted(outcome for _, outcome in run.cases) == ["", "", "error"]
    assert len([line for line in run.text.splitlines() if line.startswith("cannot tell: dead")]) == 1


def test_a_failure_weighs_more_than_a_host_in_the_dark(tmp_path: Path) -> None:
    """The worst outcome is the exit status."""
    dead = _dead(tmp_path)
    here = _local(kernel_settings_somaxconn=2**31 - 1, ansible_ssh_common_args=dead["ansible_ssh_common_args"])
    run = _run(tmp_path, {"here": here, "dead": dead}, only="kernel_settings.somaxconn")
    assert run.code == 1, run.text


def test_both_ways_agree_on_this_machine(tmp_path: Path) -> None:
    """Every setting, whatever it is here: the same outcome in one round trip and one by one."""
    run = _run(tmp_path, {"here": _local()}, only="agree")
    assert (run.code, run.cases) == (0, [("test_fast_and_slow_agree[here]", "")]), run.text


def test_a_wrong_inventory_is_told_and_no_host_is_asked(tmp_path: Path) -> None:
    """It is nobody's failure and nobody's darkness."""
    run = _run(tmp_path, {"here": _local(host_board=None)})
    assert run.code not in (0, 1, 4), run.text
    assert "host_board does not say its board" in " ".join(run.text.split())


def test_without_an_inventory_there_are_no_tests() -> None:
    """A run of all tests does not look for hosts."""
    argv = [sys.executable, "-m", "pytest", "tests/host", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(argv, cwd=clone_root(), env=environment, capture_output=True, check=False, timeout=120)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED
