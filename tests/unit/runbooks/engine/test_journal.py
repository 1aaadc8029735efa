"""The journal: on disk before, readable after whatever happened."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from infra.errors import ConfigError, Unknown
from runbooks.engine.journal import FILE, Journal, entries, read
from runbooks.engine.state import Event


def begin(folder: Path) -> Journal:
    journal = Journal(folder)
    journal.append(Event.RUN, run_id="r", acts=True)
    journal.append(Event.STEP, step="a", writes=True)
    journal.append(Event.RECORD, step="a", facts={"path": Path("/x"), "n": {3, 1}})
    return journal


def test_a_reader_sees_what_the_writer_sees(tmp_path: Path) -> None:
    """The fold in memory and the one from disk are the same, facts as plain data included."""
    journal = begin(tmp_path / "r")
    assert read(tmp_path / "r") == journal.past
    assert journal.past.facts == {"a": {"path": "/x", "n": [1, 3]}}


@pytest.mark.parametrize(
    "tail", [b'{"at":', b'{"at":"x","event":"undone","step":"a"}', b"\0\0\0"], ids=["half", "no end", "zeros"]
)
def test_a_torn_last_line_counts_as_never_written(tmp_path: Path, tail: bytes) -> None:
    """What a line announces is done only after its line feed is on disk; the next line starts clean."""
    begin(tmp_path / "r").close()
    with (tmp_path / "r" / FILE).open("ab") as file:
        file.write(tail)
    journal = Journal(tmp_path / "r")
    assert journal.past.left == ["a"]
    journal.append(Event.UNDONE, step="a", verdict="ok", said="")
    assert [line["event"] for line in entries(tmp_path / "r")] == ["run", "step", "record", "undone"]


def test_damage_before_the_last_line_cannot_be_told(tmp_path: Path) -> None:
    """It is not skipped: it may have been a write."""
    begin(tmp_path / "r").close()
    lines = (tmp_path / "r" / FILE).read_bytes().splitlines()
    (tmp_path / "r" / FILE).write_bytes(b"\n".join([lines[0], b"###", lines[2], b""]))
    with pytest.raises(Unknown, match="line 2 cannot be read"):
        Journal(tmp_path / "r")


def test_a_disk_that_takes_half_a_line_keeps_none_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failed line is gone, the next one whole."""
    journal, real = begin(tmp_path / "r"), os.write
    monkeypatch.setattr(os, "write", lambda file, data: real(file, data[:9]))
    with pytest.raises(OSError, match="only a part"):
        journal.append(Event.STEP, step="b", writes=True)
    monkeypatch.setattr(os, "write", real)
    assert journal.past.started == ["a"]
    journal.append(Event.STEP, step="c", writes=True)
    assert read(tmp_path / "r").started == ["a", "c"]


def test_what_is_done_already_goes_on_without_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An undo does not end because the disk is full: it warns and counts in memory."""
    journal, said = begin(tmp_path / "r"), []

    def full(*words: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    journal.note(Event.UNDONE, said.append, step="a", verdict="ok", said="")
    assert journal.past.left == []
    assert "No space left on device" in said[0]


def test_one_process_at_a_time_holds_a_journal(tmp_path: Path) -> None:
    """And lets go of it when it closes it, or dies."""
    journal = begin(tmp_path / "r")
    with pytest.raises(ConfigError, match="is still at it"):
        Journal(tmp_path / "r")
    journal.close()
    Journal(tmp_path / "r").close()


def test_facts_that_are_not_plain_are_refused_before_the_write(tmp_path: Path) -> None:
    """A step that records an object learns it at once, not at the resume."""
    journal = begin(tmp_path / "r")
    with pytest.raises(TypeError, match="is not plain data"):
        journal.append(Event.RECORD, step="a", facts={"client": object()})


def test_a_line_of_a_later_version_is_passed_over(tmp_path: Path) -> None:
    """An older engine can still undo what it knows."""
    begin(tmp_path / "r").close()
    with (tmp_path / "r" / FILE).open("a") as file:
        file.write(json.dumps({"at": "x", "event": "novelty"}) + "\n")
    assert read(tmp_path / "r").left == ["a"]
