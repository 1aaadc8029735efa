"""What a play came to, read from the events of ansible-runner, and which of it is a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.errors import CheckError, ConfigError, Unknown
from runbooks.lib.hosts import plays
from runbooks.lib.hosts.plays import HostPlay, Order, Place, play, read_events


def task(event: str, host: str, name: str = "Set it", **result: Any) -> dict[str, Any]:
    return {"event": event, "event_data": {"host": host, "task": name, "res": result}}


def ended(**counts: dict[str, int]) -> dict[str, Any]:
    hosts = {host: 1 for one in counts.values() for host in one}
    return {"event": "playbook_on_stats", "event_data": {"playbook": "x.yml", "processed": hosts, **counts}}


FAILED = task("runner_on_failed", "a", msg="no space left\non device")
CASES: dict[str, tuple[list[dict[str, Any]], HostPlay]] = {
    "changed": ([ended(ok={"a": 9}, changed={"a": 2})], HostPlay(2, 9)),
    "failed": ([FAILED, ended(failures={"a": 1})], HostPlay(failed=("Set it: no space left on device",))),
    "rescued": ([FAILED, ended(ok={"a": 3}, rescued={"a": 1})], HostPlay(ok=3)),
    "dark": ([task("runner_on_unreachable", "a", msg="timed out"), ended(dark={"a": 1})], HostPlay(dark="timed out")),
    "silent": ([ended(failures={"a": 1})], HostPlay(failed=("failed without a word",))),
    "said on stderr": ([task("runner_on_failed", "a", msg="", stderr="E: lock"), ended(failures={"a": 1})],
                       HostPlay(failed=("Set it: E: lock",))),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_host_is_told_by_its_own_tasks(case: str) -> None:
    """What failed and was not rescued, what was changed, and why a host was dark."""
    events, wanted = CASES[case]
    assert read_events(events) == {"a": wanted}


WRONG: dict[str, tuple[list[dict[str, Any]], str, type[Exception], str]] = {
    "one failed": ([FAILED, ended(ok={"b": 1}, failures={"a": 1})], "failed", CheckError,
                   "failed on 1 of 2 hosts — host a: Set it: no space left on device"),
    "one dark": ([ended(ok={"b": 1}, dark={"a": 1})], "failed", Unknown, "1 of 2 hosts are out of reach"),
    "failed before dark": ([FAILED, ended(failures={"a": 1}, dark={"b": 1})], "failed", CheckError, "host a"),
    "not in time": ([], "timeout", Unknown, "ended as 'timeout, without a sum'"),
    "no such host": ([ended(ok={"a": 1})], "successful", Unknown, "did nothing on b"),
    "no task at all": ([ended()], "successful", Unknown, "did nothing on a, b"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_a_play_that_did_not_do_it_on_every_host_is_no_success(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure is one, and whatever cannot be told is unknown."""
    events, status, kind, words = WRONG[case]
    (tmp_path / "x.yml").touch()
    monkeypatch.setattr(plays, "_run", lambda *_: (events, status, "the end"))
    with pytest.raises(kind, match=words):
        play(Place(tmp_path, {}), Order("x.yml", ("a", "b")))


def test_events_and_text_are_kept_even_of_a_play_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For whoever asks why, in a folder that nobody else reads."""
    (tmp_path / "x.yml").touch()
    monkeypatch.setattr(plays, "_run", lambda *_: ([FAILED, ended(failures={"a": 1})], "failed", "the end"))
    with pytest.raises(CheckError):
        play(Place(tmp_path, {}, tmp_path / "kept"), Order("x.yml", ("a",)))
    lines = (tmp_path / "kept/x.events.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["runner_on_failed", "playbook_on_stats"]
    assert (tmp_path / "kept/x.log").read_text() == "the end"
    assert (tmp_path / "kept").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("playbook", "hosts"), [("y.yml", ("a",)), ("x.yml", ())], ids=["no playbook", "no host"])
def test_an_order_that_cannot_be_meant_is_refused(playbook: str, hosts: tuple[str, ...], tmp_path: Path) -> None:
    """Before Ansible is started: without a host it would take them all."""
    (tmp_path / "x.yml").touch()
    with pytest.raises(ConfigError):
        play(Place(tmp_path, {}), Order(playbook, hosts))
