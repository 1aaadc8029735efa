"""Bring the lab's stack up with plain ``pulumi``, whatever state an earlier try left it in."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

from infra.errors import ConfigError
from lab import env, paths, stack_file
from lab.cluster import marks
from lab.commands import end_orphans, run_logged
from lab.images import catalog
from lab.stack_file import STACK
from lab.steps import Report

PROJECT = "railwright"
"""Name of the project in Pulumi.yaml; part of the paths in Pulumi's file backend."""

FILTER = {"clean": "sed -e /^encryptionsalt:/d", "smudge": "cat"}
"""Git filter ``pulumi-salt``, named in .gitattributes: git never sees the line that Pulumi writes for this clone."""

SIMULATED_TARGETS = ("**GpuPool::**", "**NodePool::**", "**pulumi:providers:kubernetes**")
"""URNs of what can come up where nothing real runs: pools, their simulated hosts, and the provider of both."""


def is_ready() -> bool:
    """Whether the stack exists, its salt fits and git is told to overlook it."""
    return _state_file().exists() and _fitting_salt() == _file_salt() and not _absent_filters()


def init(report: Report) -> str:
    """Make the stack, in this clone's own backend and under its own passphrase."""
    for name in _absent_filters():
        _git("config", "--local", f"filter.pulumi-salt.{name}", FILTER[name])
    file = stack_file.path()
    if (wanted := _fitting_salt()) != _file_salt():
        report("gives the stack file the salt of this clone's state")
        file.write_text(stack_file.with_salt(file.read_text(), wanted))
    report(f"selects stack {STACK!r}")
    _pulumi(["stack", "select", "--create", STACK], "stack", report)
    _tell_git()
    return f"stack {STACK!r}"


def up(report: Report, *, simulated: bool) -> str:
    """Run ``pulumi up`` under the policies.

    Returns:
        What changed, in words.
    Raises:
        ConfigError: another update of the stack is under way.
        CheckError: Pulumi failed; the message holds the end of what it said.
    """
    _release_locks(report)
    end_orphans(report)
    if _latest().get("pending_operations"):
        report("looks at what an interrupted update left")
        refresh = ["refresh", "--yes", "--skip-preview", "--clear-pending-creates", "--stack", STACK]
        _pulumi(refresh, "refresh", report)
    if simulated:
        _name_images()
    targets = [f"--target={pattern}" for pattern in SIMULATED_TARGETS] if simulated else []
    _tell_git()
    try:
        return summary(_pulumi(["up", "--yes", "--skip-preview", "--stack", STACK, *targets], "up", report))
    finally:
        _tell_git()


def summary(said: str) -> str:
    """What ``pulumi up`` did, from the end of what it said, such as ``27 resources: 3 updated, 24 unchanged``."""
    counts = re.findall(r"(\d+) (?!changes?\b)([a-z]+)", said.rpartition("\nResources:\n")[2].partition("\n\n")[0])
    there = sum(int(count) for count, done in counts if done != "deleted")
    return f"{there} resources: {', '.join(' '.join(each) for each in counts)}" if counts else ""


def _pulumi(arguments: Sequence[str], log: str, report: Report) -> str:
    """Run Pulumi to its end, and give back what it said."""
    variables = env.for_programs() | {marks.PROGRAM: paths.lab_id()}
    program = shutil.which("pulumi", path=variables["PATH"])
    if program is None:
        raise ConfigError("pulumi — is not on PATH and was not built — run `lab up`, which builds it")
    argv = [program, *arguments, "--non-interactive", "--color=never"]
    file = paths.state_dir() / "log" / "up" / "pulumi" / f"{log}.log"
    try:
        run_logged(argv, file, report, env=variables, cwd=paths.repo_root())
    finally:
        env.forget_kubeconfigs()
    return file.read_text(errors="replace")


def _name_images() -> None:
    """Give the images that no simulated lab runs a digest of zeros, so that the plan can be made without them."""
    lock = paths.state_dir() / "images.json"
    wanted = [*stack_file.section("models").values(), stack_file.section("gateway")]
    names = {part["image"] for part in wanted if "@" not in part["image"]}
    names |= {f"{catalog.REPOSITORY}/{part}" for part in catalog.MONITORING}
    if not lock.exists():
        lock.write_text(json.dumps(dict.fromkeys(sorted(names), f"sha256:{'0' * 64}"), indent=2) + "\n")


def _state_file() -> Path:
    return env.pulumi_state() / ".pulumi" / "stacks" / PROJECT / f"{STACK}.json"


def _latest() -> dict[str, Any]:
    """The newest checkpoint of the stack; empty where there is none."""
    try:
        found = json.loads(_state_file().read_text())["checkpoint"].get("latest")
    except (OSError, ValueError, KeyError):
        return {}
    return found if isinstance(found, dict) else {}


def _file_salt() -> str | None:
    return stack_file.salt(stack_file.path().read_text())


def _fitting_salt() -> str | None:
    """The salt that the stack file should have: the state's own, or none before there is a state."""
    if not _state_file().exists():
        return None
    known: str | None = _latest().get("secrets_providers", {}).get("state", {}).get("salt")
    return known or _file_salt()


def _release_locks(report: Report) -> None:
    """Take away the lock of an update that was killed, and respect that of one that lives."""
    folder = env.pulumi_state() / ".pulumi" / "locks" / "organization" / PROJECT / STACK
    for lock in folder.glob("*.json"):
        holder = json.loads(lock.read_text())
        if is_pulumi(holder["pid"]):
            ours = holder["pid"] in marks.processes(marks.PROGRAM, paths.lab_id())
            raise ConfigError(
                f"stack {STACK!r} — process {holder['pid']} updates it since {holder['timestamp']} — one update at a "
                f"time is allowed — wait for it to end{', or end it with `lab down`' if ours else ''}"
            )
        report(f"takes away the lock of process {holder['pid']}, which is gone")
        lock.unlink()


def is_pulumi(pid: int) -> bool:
    """Whether this process lives and is Pulumi; numbers are used again after a restart."""
    try:
        return "pulumi" in psutil.Process(pid).name()
    except psutil.NoSuchProcess:
        return False


def _absent_filters() -> list[str]:
    """The parts of the git filter that this clone does not have; none where it is no git clone."""
    if shutil.which("git") is None or not (paths.repo_root() / ".git").exists():
        return []
    return [name for name, text in FILTER.items() if _git("config", "--get", f"filter.pulumi-salt.{name}") != text]


def _tell_git() -> None:
    """Let git note the file's new size, by which alone it would call the file modified; real edits are left alone."""
    file = str(stack_file.path())
    if shutil.which("git") and _git("ls-files", "--", file) and not _git("diff", "--name-only", "--", file):
        _git("add", "--", file)


def _git(*arguments: str) -> str:
    argv = ["git", "-C", str(paths.repo_root()), *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
