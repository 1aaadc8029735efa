"""One round trip brings all answers of a host; what cannot be read is told, and nothing is taken for an answer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.catalog.host_tuning.setting import Means, Reading
from infra.errors import Unknown
from runbooks.lib.hosts import answers
from runbooks.lib.hosts.answers import ask_all
from runbooks.lib.writing import Result

ENDS = Reading(Means.COMMAND, ("sh", "-c", "echo said; exit 3"))


def _here(argv: Sequence[str], given: bytes) -> Result:
    """Run it on this machine, as ssh would on a host."""
    done = subprocess.run(list(argv), input=given, capture_output=True, check=False, timeout=60)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_files_and_programs_answer_in_one_go(tmp_path: Path) -> None:
    """Each file that a glob matches, and what a program says, with its status."""
    for number in (0, 1):
        (tmp_path / f"cpu{number}").write_text(f"governor {number}\n", encoding="utf-8")
    files = Reading(Means.FILES, (f"{tmp_path}/cpu*",))
    absent, none = (
        Reading(Means.COMMAND, ("no-such-program",)),
        Reading(Means.FILES, (f"{tmp_path}/gpu*",)),
    )
    said = ask_all("here", [files, ENDS, absent, none], _here)
    assert said[files].texts == {str(tmp_path / f"cpu{number}"): f"governor {number}\n" for number in (0, 1)}
    assert (said[ENDS].texts, said[ENDS].status) == ({"": "said\n"}, 3)
    assert (said[absent].status, said[none].texts) == (127, {})


def test_a_sysctl_is_read() -> None:
    """The kernel has no memory for a reader who asks for megabytes of it at once."""
    reading = Reading(Means.FILES, ("/proc/sys/kernel/ostyp*",))
    assert ask_all("here", [reading], _here)[reading].texts == {"/proc/sys/kernel/ostype": "Linux\n"}


def test_hidden_files_are_left_out_as_by_a_shell(tmp_path: Path) -> None:
    """An editor's copy beside a file that counts is not read."""
    for name in ("90-own.conf", ".90-own.conf.swp.conf"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    reading = Reading(Means.FILES, (f"{tmp_path}/*.conf",))
    assert list(ask_all("here", [reading], _here)[reading].texts) == [f"{tmp_path}/90-own.conf"]


def test_a_program_that_does_not_end_costs_only_its_own_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tool of a dead GPU hangs; the other answers come, in the time that is left (nvidia-smi after Xid 79)."""
    text = answers._program().replace("EACH_SECONDS = 20", "EACH_SECONDS = 1")
    monkeypatch.setattr(answers, "_program", lambda: text)
    hangs = [Reading(Means.COMMAND, ("sh", "-c", f"echo {n}; sleep 60 & wait")) for n in range(2)]
    said = ask_all("here", [*hangs, ENDS], _here)
    assert [said[one].error for one in hangs] == ["sh: no answer in time"] * 2
    assert said[ENDS].status == 3


def test_a_file_that_never_ends_costs_only_its_own_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file of a dead driver blocks its reader for ever; here it is a pipe that nobody writes to."""
    os.mkfifo(tmp_path / "params")
    text = answers._program().replace("ALL_SECONDS = 45", "ALL_SECONDS = 1")
    monkeypatch.setattr(answers, "_program", lambda: text)
    blocks = Reading(Means.FILES, (f"{tmp_path}/params",))
    said = ask_all("here", [blocks, ENDS], _here)
    assert (said[blocks].error, said[ENDS].status) == (f"{tmp_path}/params: no answer in time", 3)


@pytest.mark.parametrize("means", [Means.FILES, Means.COMMAND])
def test_half_an_answer_is_none(means: Means, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is too long is told as such."""
    text = answers._program().replace("LONGEST = 4 * 1024 * 1024", "LONGEST = 10")
    monkeypatch.setattr(answers, "_program", lambda: text)
    (tmp_path / "log").write_text("a" * 11, encoding="utf-8")
    reading = Reading(means, (f"{tmp_path}/log",) if means is Means.FILES else ("cat", f"{tmp_path}/log"))
    assert ask_all("here", [reading], _here)[reading].error.endswith("than 10 bytes")


def test_a_folder_may_stand_for_the_host(tmp_path: Path) -> None:
    """Its files are told by their own names, and only its programs are there."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cmdline").write_text("iommu=pt\n", encoding="utf-8")
    (tmp_path / "usr/sbin").mkdir(parents=True)
    (tmp_path / "usr/sbin/lspci").write_text("#!/bin/sh\necho $#\n", encoding="utf-8")
    (tmp_path / "usr/sbin/lspci").chmod(0o755)
    file, own, none = (
        Reading(Means.FILES, ("/proc/cmd*",)), Reading(Means.COMMAND, ("lspci", "-D", "-nn")),
        Reading(Means.COMMAND, ("cat", "/proc/cmdline")),
    )  # fmt: skip
    said = ask_all("here", [file, own, none], _here, str(tmp_path))
    assert said[file].texts == {"/proc/cmdline": "iommu=pt\n"}
    assert (said[own].texts, said[none].status) == ({"": "2\n"}, 127)


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """A folder in place of a file, as root may read anything else."""
    (tmp_path / "enabled").mkdir()
    reading = Reading(Means.FILES, (f"{tmp_path}/enabled",))
    assert ask_all("here", [reading], _here)[reading].error == f"{tmp_path}/enabled: Is a directory"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (Result(127, "", "sh: 1: exec: python3: not found\n"), "ends with 127: sh: 1: exec: python3: not found"),
        (Result(1, "", "sudo: a password is required\n"), "sudo: a password is required — .* may sudo without"),
        (Result(0, "Welcome to b300-01\n[]", ""), "what it says is no answer"),
        (Result(0, "[]", ""), "what it says is no answer"),
        (Result(0, '[{"txts": {}}]', ""), "what it says is no answer"),
    ],
    ids=["no Python", "no sudo", "a greeting", "too few", "of another form"],
)
def test_what_is_no_answer_is_not_taken_for_one(result: Result, said: str) -> None:
    """With the host and what to look at."""
    reading = Reading(Means.FILES, ("/proc/cmdline",))
    with pytest.raises(Unknown, match=f"host b300-01 — .*{said}"):
        ask_all("b300-01", [reading], lambda argv, given: result)
