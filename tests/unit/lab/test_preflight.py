"""Preflight: everything that is missing is told at once, each with what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from infra.errors import CheckError
from lab import packages, preflight
from lab.packages import Package
from lab.preflight import Disk, Facts

SECCOMP = Package("libseccomp-dev", "usr/include/seccomp.h", "building runc", build=True)

FINE = Facts(
    is_root=True,
    machine="x86_64",
    memory_gib=22.0,
    disks=[Disk(Path("/"), 60.0, {"state": 4.0, "cache": 16.0})],
    no_controllers=frozenset(),
    cgroups_writable=True,
    kernel={},
    packages=[],
    can_install=True,
)
"""A machine that has everything."""


def told(facts: Facts, *, simulated: bool = False) -> list[str]:
    """The problems of a machine."""
    return [*preflight.problems(facts, simulated=simulated)]


def test_a_machine_that_has_everything_passes() -> None:
    """Nothing is asked for that the lab does not need."""
    assert told(FINE) == []


@pytest.mark.parametrize(
    ("facts", "who", "fix"),
    [
        (replace(FINE, is_root=False), "user", "lab up --simulated"),
        (replace(FINE, machine="riscv64"), "machine", "aarch64"),
        (replace(FINE, memory_gib=5.0), "memory", "end other programs"),
        (replace(FINE, disks=[Disk(Path("/"), 9.0, {"cache": 16.0})]), "disk", "RAILWRIGHT_CACHE"),
        (replace(FINE, no_controllers=frozenset({"pids"})), "cgroups", "lab up --simulated"),
        (replace(FINE, cgroups_writable=False), "cgroups", "lab up --simulated"),
        (replace(FINE, kernel={"nf_tables": "Operation not supported"}), "kernel", "modprobe nf_tables"),
        (replace(FINE, kernel={"namespaces": "Operation not permitted"}), "kernel", "CAP_SYS_ADMIN"),
        (replace(FINE, packages=[SECCOMP], can_install=False), "packages", "libseccomp-dev for building runc"),
    ],
    ids=["root", "machine", "memory", "disk", "controllers", "read-only cgroups", "kernel", "namespaces", "packages"],
)
def test_each_missing_thing_is_named_with_a_way_out(facts: Facts, who: str, fix: str) -> None:
    """One thing missing is one sentence: who, what was found, what is needed, what to do."""
    (problem,) = told(facts)
    assert problem.startswith(f"{who} — ")
    assert fix in problem


def test_all_missing_things_are_told_at_once() -> None:
    """Nobody has to fix one thing to learn of the next."""
    bad = replace(FINE, memory_gib=1.0, no_controllers=frozenset({"cpu"}), kernel={"veth": "no", "overlay": "no"})
    assert [problem.split(" — ")[0] for problem in told(bad)] == ["memory", "cgroups", "kernel", "kernel"]


def test_missing_packages_are_installed_where_that_can_be_done() -> None:
    """A package that root can install with apt is not the user's problem."""
    assert told(replace(FINE, packages=[SECCOMP])) == []


def test_a_simulated_lab_asks_for_neither_root_nor_cgroups() -> None:
    """What only a kubelet needs does not stop simulated hosts."""
    facts = replace(FINE, is_root=False, no_controllers=frozenset({"cpu"}), cgroups_writable=False, memory_gib=4.0)
    assert told(facts, simulated=True) == []


def test_disk_that_is_used_already_is_not_needed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second start on a disk that the first one filled is not refused."""
    monkeypatch.setattr(preflight.paths, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(preflight.paths, "state_dir", lambda: tmp_path / "state")
    monkeypatch.setattr(preflight, "used_gib", lambda folder: 15.0 if folder == tmp_path else 0.0)
    (disk,) = preflight._disks(simulated=False)
    assert disk.needs == {"state": 4.0, "cache": 1.0}


@pytest.fixture
def apt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """An apt whose first installs fail; gives the verbs that were run."""

    def run_with(failures: int) -> list[str]:
        verbs: list[str] = []
        absent = [SECCOMP]
        monkeypatch.setattr(packages, "missing", lambda *, simulated: list(absent))

        def run(argv: Sequence[str], log: Path, report: object) -> None:
            verbs.append("update" if "update" in argv else "install")
            if verbs[-1] == "install" and verbs.count("install") <= failures:
                raise CheckError("apt-get — ended with code 100")
            if verbs[-1] == "install":
                absent.clear()

        packages.install(lambda line: None, simulated=False, run=run)
        return verbs

    return run_with


@pytest.mark.parametrize(
    ("failures", "verbs"), [(0, ["install"]), (1, ["install", "update", "install"])], ids=["fresh lists", "stale lists"]
)
def test_package_lists_are_updated_only_when_needed(
    apt: Callable[[int], list[str]], failures: int, verbs: list[str]
) -> None:
    """Lists are fetched only after an install failed without them."""
    assert apt(failures) == verbs


def test_an_install_that_fails_twice_is_an_error(apt: Callable[[int], list[str]]) -> None:
    """After fresh lists there is nothing more to try."""
    with pytest.raises(CheckError, match="apt-get"):
        apt(2)


@pytest.mark.parametrize("proof", ["sh", "etc/passwd", "usr/lib*/os-release"], ids=["program", "path", "glob"])
def test_a_package_is_there_when_its_proof_is(proof: str) -> None:
    """What counts is what the package brings, from wherever it came."""
    assert Package("x", proof, "x").is_there()
    assert not Package("x", f"{proof}-absent", "x").is_there()
