"""Drills on the running lab: the short set passes, and a drill that is killed, stopped or refused leaves nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.cluster.lab import Lab
from runbooks.drills._signals import simulated
from runbooks.drills.flap_nic import FlapNic
from runbooks.engine.context import Context
from runbooks.engine.discover import load
from runbooks.engine.result import Exit, Result
from runbooks.engine.run import Consent, Site, execute
from runbooks.lib import clients, leases
from runbooks.lib.kubernetes.views import Host
from runbooks.lib.stack import Monitoring, Stack
from tests.lab.living_lab import get, kubectl, serving_lab
from tests.lab.runbook_command import ended, locks, start
from tests.lab.simulated_hosts import HOST, OTHER, left_as_found

SIGNAL = "signal.lab.railwright.dev/nic-down"
"""What the drill that these tests break off sets on a simulated host."""


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


def _signalled(lab: Lab) -> list[str]:
    """Hosts that have the signal."""
    nodes = get(lab, "nodes")["items"]
    return [node["metadata"]["name"] for node in nodes if SIGNAL in node["metadata"].get("annotations", {})]


@contextmanager
def _in_the_middle(lab: Lab, runs: Path) -> Iterator[subprocess.Popen[str]]:
    """A drill whose fault is in; the test ends it."""
    process = start("drill", "flap_nic", "--lab", "--yes", runs=runs)
    try:
        end = time.monotonic() + 120
        while not _signalled(lab):
            assert process.poll() is None, ended(process)[1]
            assert time.monotonic() < end, "the drill made no fault"
            time.sleep(0.5)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(120)


def _only(runs: Path) -> str:
    """Id of the one drill in this folder."""
    found = [path.name for path in runs.iterdir() if path.is_dir() and "flap-nic" in path.name]
    assert len(found) == 1
    return found[0]


def _site(tmp_path: Path) -> Site:
    return Site(runs=tmp_path / "runs", connect=clients.connect, locks=leases.for_stack)


def _drill(drill: type[FlapNic], tmp_path: Path) -> Result:
    return execute(drill, drill.Inputs(), stack="lab", site=_site(tmp_path), consent=Consent(yes=True))


@pytest.mark.timeout(480)
def test_the_short_set_passes(lab: Lab, tmp_path: Path) -> None:
    """Each drill keeps what it claims, is answered, is over, and has left nothing; its report says so."""
    code, said = ended(start("drill", "--short", "--lab", "--yes", runs=tmp_path), within=470)
    assert code == 0, said
    reports = [json.loads(path.read_text()) for path in tmp_path.glob("*/drill.json")]
    assert {report["drill"] for report in reports} == {"drills/kill_engine_pod", "drills/kill_gateway_pod"}
    for report in reports:
        stations = [event["kind"] for event in report["timeline"]]
        assert report["broken"] == []
        assert report["traffic"]["counts"]["ok"] > 0
        assert stations[0] == "steady"
        assert stations[-1] == "recovered"
        if report["alert"]:
            assert 0 < report["seconds_to_alert"] < 90
            assert "runbook" in stations
    assert len(list(tmp_path.glob("*/drill.html"))) == len(reports)


def test_a_drill_whose_engine_is_killed_is_undone_from_its_journal(lab: Lab, tmp_path: Path) -> None:
    """kill -9 in the middle leaves the fault; ``runbook undo`` takes it back and finds the lab as it was."""
    with left_as_found(lab), _in_the_middle(lab, tmp_path) as process:
        process.kill()
        process.wait(10)
        assert _signalled(lab) == [OTHER]
        code, said = ended(start("undo", _only(tmp_path), runs=tmp_path))
        assert (code, _signalled(lab)) == (0, []), said
        assert "as it was" in said
        assert locks(lab) == []


def test_a_drill_that_is_told_to_stop_undoes_at_once(lab: Lab, tmp_path: Path) -> None:
    """SIGTERM in the middle: the fault is gone in seconds, the lab as it was, the exit code 1."""
    with left_as_found(lab), _in_the_middle(lab, tmp_path) as process:
        process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 20
        while _signalled(lab):
            assert time.monotonic() < end, "the fault is still there"
            time.sleep(0.5)
        code, said = ended(process)
        assert code == 1, said
        assert "as it was" in said
        assert locks(lab) == []


def test_a_second_drill_on_the_same_scope_is_refused(lab: Lab, tmp_path: Path) -> None:
    """Two faults at once prove nothing: exit 2, with who is at it, and nothing touched."""
    with left_as_found(lab), _in_the_middle(lab, tmp_path / "one"):
        code, said = ended(start("drill", "lose_gpu", "--lab", "--yes", runs=tmp_path / "two"))
        assert code == 2, said
        assert "lock" in said
        assert "nothing was touched" in said


def test_all_reasons_against_a_drill_come_at_once(lab: Lab, tmp_path: Path) -> None:
    """A host that is not there and a host that is cordoned: one run names both, and touches nothing."""
    with left_as_found(lab):
        kubectl(lab, "cordon", HOST)
        try:
            words = ("run", "drills/drain_host", "--stack", "lab", "--host", "nowhere", "--yes")
            code, said = ended(start(*words, runs=tmp_path))
        finally:
            kubectl(lab, "uncordon", HOST)
        assert code == 2, said
        assert "'nowhere'" in said
        assert f"'{HOST}' is cordoned" in said
        assert "nothing was touched" in said


def test_a_fault_that_the_lab_cannot_have_is_refused(lab: Lab, tmp_path: Path) -> None:
    """Its reason is told, and no clock is set."""
    drill: Any = load("drills/jump_clock")
    result = execute(drill, drill.Inputs(), stack="lab", site=_site(tmp_path), consent=Consent(yes=True))
    assert (result.exit, len(result.steps)) == (Exit.REFUSED, 0)
    assert any("clock of the machine" in reason for reason in result.refused)


class TakesAPool(FlapNic):
    """All hosts of a pool lose a NIC."""

    def hosts(self, ctx: Context) -> Sequence[Host]:
        """Every one."""
        return simulated(ctx, pool="h200")


class MatchesNothing(FlapNic):
    """Hosts of a pool that is not there lose a NIC."""

    def hosts(self, ctx: Context) -> Sequence[Host]:
        """None."""
        return simulated(ctx, pool="nowhere")


@pytest.mark.parametrize(
    ("drill", "said"), [(TakesAPool, "blast radius: ready hosts of pool 'h200'"), (MatchesNothing, "pool 'nowhere'")]
)
def test_targets_that_are_too_many_or_none_are_refused(
    lab: Lab, tmp_path: Path, drill: type[FlapNic], said: str
) -> None:
    """The blast radius is looked at before the fault, and a selector must match; exit 2, no step begun."""
    with left_as_found(lab):
        result = _drill(drill, tmp_path)
    assert (result.exit, len(result.steps)) == (Exit.REFUSED, 0)
    assert any(said in reason for reason in result.refused)


def test_without_prometheus_nothing_can_be_told(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No claim could be judged: exit 4, and no fault is made."""
    monkeypatch.setattr(Stack, "monitoring", lambda self, part: Monitoring("http://127.0.0.1:9", ""))
    with left_as_found(lab):
        result = _drill(FlapNic, tmp_path)
    assert (result.exit, len(result.steps)) == (Exit.UNKNOWN, 0)
