"""The stack step: salt and state fit together, dead locks go, living ones are respected."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.errors import ConfigError
from lab import env, paths, stack, stack_file
from lab.cluster import marks


@pytest.fixture(autouse=True)
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of its own, with an empty stack."""
    monkeypatch.setattr(paths, "repo_root", lambda: tmp_path)
    (tmp_path / "stacks").mkdir()
    stack_file.path().write_text("config: {}\n")
    return tmp_path


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The Pulumi commands that were run."""
    seen: list[str] = []

    def note(arguments: Sequence[str], log: str, report: object) -> str:
        seen.append(arguments[0])
        return ""

    monkeypatch.setattr(stack, "_pulumi", note)
    monkeypatch.setattr(stack, "end_orphans", lambda report: seen.append("orphans end"))
    monkeypatch.setattr(marks, "processes", lambda mark, lab_id: [4711] if mark == marks.PROGRAM else [])
    return seen


def write_state(**latest: object) -> None:
    """A state file as Pulumi's file backend writes it."""
    path = env.pulumi_state() / ".pulumi/stacks/railwright/lab.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": 3, "checkpoint": {"stack": "lab", "latest": latest or None}}))


def write_lock(pid: int) -> Path:
    """A lock as Pulumi's file backend writes it."""
    path = env.pulumi_state() / ".pulumi/locks/organization/railwright/lab/1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"pid": pid, "username": "u", "hostname": "h", "timestamp": "2026-12-01T00:00:00Z"}))
    return path


def salted(salt: str) -> dict[str, object]:
    """The part of a state that holds its salt."""
    return {"secrets_providers": {"type": "passphrase", "state": {"salt": salt}}}


@pytest.mark.parametrize(
    ("in_file", "in_state", "want"),
    [
        ("v1:other", None, None),
        ("v1:other", salted("v1:own"), "v1:own"),
        (None, salted("v1:own"), "v1:own"),
        ("v1:own", {}, "v1:own"),
    ],
    ids=["no state", "another clone's", "restored from git", "state without secrets"],
)
def test_the_file_gets_the_salt_of_its_state(
    in_file: str | None, in_state: dict[str, object] | None, want: str | None, ran: list[str]
) -> None:
    """A salt without its state would lock Pulumi out, so it goes; a state's own salt comes back."""
    stack_file.path().write_text(stack_file.with_salt("config: {}\n", in_file))
    if in_state is not None:
        write_state(**in_state)
    stack.init(lambda line: None)
    assert stack_file.salt(stack_file.path().read_text()) == want
    assert ran == ["stack"]


def test_the_lock_of_a_killed_update_is_taken_away(ran: list[str]) -> None:
    """A process that is gone, or whose number something else has now, locks nobody out."""
    lock = write_lock(os.getpid())
    stack.up(lambda line: None, simulated=False)
    assert not lock.exists()
    assert ran == ["orphans end", "up"]


@pytest.mark.parametrize(("pid", "offers"), [(4711, True), (4712, False)], ids=["of a killed lab up", "by hand"])
def test_a_living_update_is_respected(
    monkeypatch: pytest.MonkeyPatch, ran: list[str], pid: int, *, offers: bool
) -> None:
    """Two updates at once would spoil the state, so the second is refused; `lab down` ends only what we started."""
    lock = write_lock(pid)
    monkeypatch.setattr(stack, "is_pulumi", lambda holder: holder == pid)
    with pytest.raises(ConfigError, match=str(pid)) as refusal:
        stack.up(lambda line: None, simulated=False)
    assert ("lab down" in str(refusal.value)) is offers
    assert lock.exists()
    assert ran == []


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        (["    ~ 3 updated", "    24 unchanged"], "27 resources: 3 updated, 24 unchanged"),
        (["    27 unchanged"], "27 resources: 27 unchanged"),
        (
            ["    + 2 created", "    - 1 deleted", "    3 changes. 25 unchanged"],
            "27 resources: 2 created, 1 deleted, 25 unchanged",
        ),
    ],
    ids=["updated", "unchanged", "deleted"],
)
def test_the_result_of_an_update_is_its_summary(lines: list[str], want: str) -> None:
    """Not the last line that Pulumi happened to print; what was deleted is there no more."""
    text = "\n".join(["Outputs:", "    hosts: 9 updated", "", "Resources:", *lines, "", "Duration: 47s", ""])
    assert stack.summary(text) == want


def test_what_an_interrupted_update_left_pending_is_looked_at_first(ran: list[str]) -> None:
    """Pending operations are settled by a refresh before the update."""
    write_state(pending_operations=[{"type": "creating"}])
    stack.up(lambda line: None, simulated=False)
    assert ran == ["orphans end", "refresh", "up"]


def test_git_never_sees_the_salt(clone: Path, ran: list[str]) -> None:
    """After the step, a salted stack file is clean to git, and a real edit still shows."""

    def git(*arguments: str) -> str:
        who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        return subprocess.run(["git", "-C", clone, *who, *arguments], capture_output=True, text=True, check=True).stdout

    git("init", "--quiet")
    (clone / ".gitattributes").write_text("stacks/Pulumi.lab.yaml filter=pulumi-salt\n")
    (clone / ".gitignore").write_text(".lab/\n")
    git("add", ".")
    git("commit", "--quiet", "--message=first")
    write_state(**salted("v1:own"))
    assert not stack.is_ready()
    stack.init(lambda line: None)
    assert stack.is_ready()
    assert git("status", "--porcelain") == ""
    stack_file.path().write_text("config: {a: b}\nencryptionsalt: v1:own\n")
    assert git("diff", "--unified=0").splitlines()[-2:] == ["-config: {}", "+config: {a: b}"]
