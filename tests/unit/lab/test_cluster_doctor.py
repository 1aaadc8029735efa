"""The doctor names what is wrong, and what to do about it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from infra.units import GIB
from lab.cluster import doctor, pki
from lab.cluster.doctor import Finding
from lab.cluster.lab import Lab
from lab.cluster.leftovers import Leftover
from lab.cluster.network import Network
from lab.cluster.registry import Record
from lab.cluster.status import Row, State

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def row(state: State, detail: str = "") -> Row:
    return Row("kubelet", "1.36.3", state, 7, 0, "", detail)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("listen tcp 10.77.0.2:10250: bind: address already in use", "ended: its port is taken"),
        ("write /x: No space left on device", "ended: the disk is full"),
        ("x509: certificate has expired or is not yet valid", "ended: a certificate has expired"),
        ("something else", "ended: fatal"),
    ],
    ids=["port", "disk", "certificate", "unknown"],
)
def test_dead_part_is_explained_from_its_log(line: str, found: str) -> None:
    """The reason is in the last lines; without one the state is told."""
    assert [one.found for one in doctor.part_findings(row("ended", "fatal"), ["started", line], 0)] == [found]


def test_part_that_somebody_stopped_is_named() -> None:
    """A drill that left its fault behind shows, with what undoes it."""
    assert [one.fix for one in doctor.part_findings(row("stopped"), [], 0)] == [
        "run `lab up`, or `part start` on its host"
    ]


@pytest.mark.parametrize(("ends", "count"), [(0, 0), (2, 0), (3, 1)])
def test_part_that_ends_again_and_again_is_named(ends: int, count: int) -> None:
    """Working now is not enough."""
    assert len(list(doctor.part_findings(row("works"), [], ends))) == count


def test_only_recent_ends_count() -> None:
    """A part that settled an hour ago is well."""

    def line(when: datetime) -> str:
        local = when.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        return f"{local},123 WARN exited: kwok (exit status 1; not expected)"

    spawned = "2026-01-01 11:59:00,1 INFO spawned: 'kwok' with pid 7"
    log = [line(NOW - timedelta(hours=1)), line(NOW - timedelta(minutes=2)), spawned]
    assert doctor.count_ends(log, NOW) == {"kwok": 1}
    assert doctor.count_ends([*log, "2026-01-01 11:59:30,1 INFO supervisord started with pid 1"], NOW) == {}


@pytest.mark.parametrize(
    ("days", "words"),
    [(0, None), (340, "expires in 25 days"), (370, "expired 5 days ago"), (-2, "in the future")],
    ids=["good", "soon", "expired", "clock went back"],
)
def test_certificates_are_judged_by_the_clock(tmp_path: Path, days: int, words: str | None) -> None:
    """Good ones are not mentioned."""
    lab = Lab("f2af6c09", tmp_path, tmp_path, tmp_path, Network(77))
    pki.ensure(lab, NOW)
    certificates = {"kubelet": pki.read_certificates(lab.pki)["kubelet"]}
    found = [one.found for one in doctor.certificate_findings(certificates, NOW + timedelta(days=days))]
    assert (found == []) if words is None else (words in found[0])


@pytest.mark.parametrize(
    ("alive", "watched", "words"),
    [(True, True, []), (True, False, ["runs, but nobody watches it"]), (False, False, ["stale pid"])],
    ids=["well", "no watcher", "dead"],
)
def test_entry_is_compared_with_what_runs(*, alive: bool, watched: bool, words: list[str]) -> None:
    """An entry whose process is gone is a stale pid."""
    record = Record("f2af6c09", "/clone", 7, "boot/1", 77, simulated=False)
    found = [one.found for one in doctor.entry_findings(record, alive=alive, watched=watched)]
    assert len(found) == len(words)
    assert all(word in text for word, text in zip(words, found, strict=True))


def test_lab_that_is_wanted_down_may_be_dead() -> None:
    """`lab down` cut off before the end is no finding of its own."""
    record = Record("f2af6c09", "/clone", 7, "boot/1", 77, simulated=False, wanted="down")
    assert list(doctor.entry_findings(record, alive=False, watched=False)) == []


def test_lab_whose_clone_was_deleted_is_named(tmp_path: Path) -> None:
    """Nobody could type `lab down` for it."""
    kept = Record("aaaaaaaa", str(tmp_path), 7, "boot/1", 77, simulated=False)
    lost = Record("bbbbbbbb", str(tmp_path / "gone"), 8, "boot/1", 78, simulated=False)
    assert [one.who for one in doctor.orphan_findings([kept, lost])] == ["lab bbbbbbbb"]


def test_leftovers_of_other_labs_are_named() -> None:
    """Our own dead lab is told elsewhere, once."""
    left = [Leftover("cgroup", "railwright-aa", "aa"), Leftover("cgroup", "railwright-bb", "bb")]
    assert list(doctor.leftover_findings(left, "bb")) == [
        Finding("lab aa", "is dead and left cgroup railwright-aa", "run `lab up` or `lab down`")
    ]


@pytest.mark.parametrize(("free", "count"), [(3 * GIB, 0), (GIB // 2, 1)])
def test_full_disk_and_memory_are_found(free: int, count: int) -> None:
    """Before a part fails for it."""
    assert len(list(doctor.disk_findings(free, "/x"))) == count
    assert len(list(doctor.memory_findings(free))) == count


def test_route_into_the_labs_network_is_found() -> None:
    """A VPN that came after the start takes the answers."""
    found = list(doctor.network_findings(Network(77), ["192.168.0.0/24", "10.0.0.0/8"]))
    assert [one.found for one in found] == ["10.77.0.0/16 meets 10.0.0.0/8 on this machine"]


@pytest.mark.parametrize(
    ("network", "record", "said"),
    [
        (None, None, []),
        (Network(77), None, ["is down"]),
        (Network(77), Record("aa", "/c", 0, "", 77, False, "down"), ["is down"]),
    ],
    ids=["never started", "taken down", "cut off on the way down"],
)
def test_a_lab_that_is_down_is_not_nothing_wrong(
    network: Network | None, record: Record | None, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor tells that the lab is down, unless there never was one."""
    monkeypatch.setattr(doctor.paths, "state_dir", lambda: tmp_path)
    monkeypatch.setattr(doctor, "remembered", lambda state: network)
    monkeypatch.setattr(doctor.registry, "read", lambda lab_id: record)
    monkeypatch.setattr(doctor.registry, "read_all", list)
    monkeypatch.setattr(doctor.leftovers, "find", list)
    monkeypatch.setattr(doctor.leftovers, "is_watched", lambda record: False)
    monkeypatch.setattr(doctor.prerequisites, "problems", lambda lab: [])
    found = [one.found for one in doctor.doctor() if one.who.startswith("lab")]
    assert found == said
    assert doctor.was_ever_up() is (network is not None)
