"""One round trip brings all answers of a host; what cannot be read is told, and nothing is taken for an answer."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from infra.catalog.host_tuning.setting import Means, Reading
from infra.errors import Unknown
from runbooks.lib.hosts.answers import ask_all
from runbooks.lib.writing import Result


def _here(argv: Sequence[str], given: bytes) -> Result:
    """Run it on this machine, as ssh would on a host."""
    done = subprocess.run(list(argv), input=given, capture_output=True, check=False, timeout=60)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_files_and_programs_answer_in_one_go(tmp_path: Path) -> None:
    """Each file that a glob matches, and what a program says, with its status."""
    for number in (0, 1):
        (tmp_path / f"cpu{number}").write_text(f"governor {number}\n", encoding="utf-8")
    files = Reading(Means.FILES, (f"{tmp_path}/cpu*",))
    ends, absent, none = (
        Reading(Means.COMMAND, ("sh", "-c", "echo said; exit 3")),
        Reading(Means.COMMAND, ("no-such-program",)),
        Reading(Means.FILES, (f"{tmp_path}/gpu*",)),
    )
    said = ask_all("here", [files, ends, absent, none], _here)
    assert said[files].texts == {str(tmp_path / f"cpu{number}"): f"governor {number}\n" for number in (0, 1)}
    assert (said[ends].texts, said[ends].status) == ({"": "said\n"}, 3)
    assert (said[absent].status, said[none].texts) == (127, {})


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    """A folder in place of a file, as root may read anything else."""
    (tmp_path / "enabled").mkdir()
    reading = Reading(Means.FILES, (f"{tmp_path}/enabled",))
    assert ask_all("here", [reading], _here)[reading].error == f"{tmp_path}/enabled: Is a directory"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (Result(127, "", "sh: 1: python3: not found\n"), "python3 ends with 127: sh: 1: python3: not found"),
        (Result(0, "Welcome to b300-01\n[]", ""), "what it says is no answer"),
        (Result(0, "[]", ""), "what it says is no answer"),
        (Result(0, '[{"txts": {}}]', ""), "what it says is no answer"),
    ],
    ids=["no Python", "a greeting", "too few", "of another form"],
)
def test_what_is_no_answer_is_not_taken_for_one(result: Result, said: str) -> None:
    """With the host and what to look at."""
    reading = Reading(Means.FILES, ("/proc/cmdline",))
    with pytest.raises(Unknown, match=f"host b300-01 — .*{said}"):
        ask_all("b300-01", [reading], lambda argv, given: result)
