"""The runbooks of hosts, GPUs, fabric, control plane and monitoring against the running lab, with faults it plays."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.cluster.lab import Lab
from runbooks.engine.discover import load
from runbooks.engine.result import Exit, Result
from runbooks.engine.run import LOOK_ONLY, Consent, Site, execute
from runbooks.lib import clients, leases
from runbooks.lib.kubernetes.views import CORDONED_BY
from runbooks.lib.signals import NOT_READY, PREFIX
from tests.lab.living_lab import get, kubectl, serving_lab

HOST = "b300-0002"
"""Simulated host that the tests hurt; drills take the first and the last one."""

PATIENCE_SECONDS = 120
"""How long a signal may take into Prometheus: scrapes of the fleet come every 15 s, rules follow (s)."""

LOCKED_SECONDS = 300
"""How long somebody else may work on the lab (s)."""

LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "a host": ("host/recover_host", {"host": "lab-1"}),
    "a leaf": ("host/recover_host", {"pool": "b300", "leaf": "b300-leaf-1"}),
    "a disk": ("host/free_disk", {"host": "lab-0", "mountpoint": "/var/log"}),
    "use": ("host/relieve_host", {"host": "lab-0"}),
    "settings": ("host/retune_host", {"host": "lab-1"}),
    "GPUs": ("gpu/replace_gpu", {}),
    "links": ("fabric/restore_link", {}),
    "control plane": ("cluster/restore_control_plane", {}),
    "targets": ("monitoring/restore_target", {}),
    "data": ("monitoring/restore_data", {}),
}
"""What is looked at, by which runbook, with which inputs."""


@pytest.fixture(scope="module")
def lab() -> Lab:
    return serving_lab()


def run(command: str, tmp_path: Path, *, acts: bool = False, **inputs: Any) -> Result:
    """Run one, as the command line does."""
    book = load(command)
    site = Site(runs=tmp_path / "runs", connect=clients.connect, locks=leases.for_stack)
    consent = Consent(yes=True) if acts else LOOK_ONLY
    end = time.monotonic() + LOCKED_SECONDS
    while True:
        result = execute(book, book.Inputs(**inputs), stack="lab", site=site, consent=consent)
        # A drill that somebody else runs on this lab is waited for.
        if not any("is held by" in reason for reason in result.refused) or time.monotonic() > end:
            return result
        time.sleep(5)


def said(result: Result) -> str:
    return "\n".join([*(one.said for one in result.steps), *result.refused])


@contextmanager
def signals(lab: Lab, **values: str) -> Iterator[None]:
    """Faults of the simulated host, gone again at the end; ``_`` stands for ``-``."""
    names = {PREFIX + name.replace("_", "-"): value for name, value in values.items()}
    kubectl(lab, "annotate", "--overwrite", "node", HOST, *(f"{name}={value}" for name, value in names.items()))
    try:
        yield
    finally:
        kubectl(lab, "annotate", "node", HOST, *(f"{name}-" for name in names))


def told(command: str, pattern: str, tmp_path: Path, **inputs: Any) -> Result:
    """Look until the diagnosis says so."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        result = run(command, tmp_path, **inputs)
        if re.search(pattern, said(result)) or time.monotonic() > end:
            break
    assert re.search(pattern, said(result)), said(result)
    assert result.exit is Exit.DONE
    return result


@pytest.mark.parametrize("what", LOOKS, ids=str)
def test_each_runbook_looks_and_says_what_it_found(lab: Lab, what: str, tmp_path: Path) -> None:
    """A dry run on the living lab ends well, says something in every step, and would write nothing."""
    command, inputs = LOOKS[what]
    result = run(command, tmp_path, **inputs)
    assert result.exit is Exit.DONE, said(result)
    assert all(one.said for one in result.steps)
    assert [one for one in result.steps if one.would] == []


def test_a_lost_gpu_is_named_its_host_cordoned_and_proved(lab: Lab, tmp_path: Path) -> None:
    """Xid 79 and a silent GPU are told apart; the host is let go only once its signals are well again."""
    with signals(lab, xid="3:79", gpu_lost="5"):
        lost = rf"GPU 5 of {HOST} is lost"
        result = told("gpu/replace_gpu", lost, tmp_path, host=HOST)
        assert f"GPU 3 of {HOST} fell off the bus (Xid 79): restart the host" in said(result)
        assert {"drain_host", "cordon"} <= {offer.do for offer in result.offers}
        cordoned = run("gpu/replace_gpu", tmp_path, acts=True, host=HOST, do="cordon")
        try:
            assert cordoned.exit is Exit.DONE, said(cordoned)
            refused = run("host/recover_host", tmp_path, acts=True, host=HOST, do="uncordon")
            assert (refused.exit, "GPUs report" in said(refused)) == (Exit.REFUSED, True)
        except BaseException:
            kubectl(lab, "uncordon", HOST)
            kubectl(lab, "annotate", "node", HOST, f"{CORDONED_BY}-")
            raise
    told("gpu/replace_gpu", rf"all 8 GPUs of {HOST} report", tmp_path, host=HOST)
    told("gpu/replace_gpu", "no Xid within the last minutes", tmp_path, host=HOST)
    proved = run("host/recover_host", tmp_path, acts=True, host=HOST, do="uncordon")
    assert proved.exit is Exit.DONE, said(proved)
    assert "unschedulable" not in get(lab, "node", HOST)["spec"]


def test_a_link_that_is_down_is_named(lab: Lab, tmp_path: Path) -> None:
    """By NIC and host; the rail is not blamed for one link."""
    with signals(lab, nic_down="2"):
        told("fabric/restore_link", rf"NIC 2 \(mlx5_2\) of {HOST} is down, the other 3 links", tmp_path, host=HOST)


def test_a_host_that_fell_silent_is_named(lab: Lab, tmp_path: Path) -> None:
    """As not ready, with the time since; its pool's missing data is told too."""
    kubectl(lab, "label", "--overwrite", "node", HOST, f"{NOT_READY}=true")
    try:
        told("host/recover_host", rf"host {HOST} is not ready \(NotReady\).*, since 20", tmp_path, host=HOST)
        told("monitoring/restore_data", rf"host {HOST} reports no metrics of dcgm-exporter", tmp_path, pool="b300")
    finally:
        kubectl(lab, "label", "node", HOST, f"{NOT_READY}-")
    told("host/recover_host", rf"ready: {HOST}", tmp_path, host=HOST)


def test_hosts_are_asked_once_and_every_setting_is_judged(lab: Lab, tmp_path: Path) -> None:
    """Both real hosts over ssh; what the machine under the lab is not tuned for is told setting by setting."""
    result = run("host/verify_host", tmp_path, pool="lab")
    (settings,) = result.steps
    rows = settings.facts["checks"]
    assert {row["host"] for row in rows} == {"lab-0", "lab-1"}
    assert {row["outcome"] for row in rows if row["id"] == "kernel_settings.ip_forward"} == {"pass"}
    assert not [row for row in rows if row["id"] == "host"]
    failed = [row for row in rows if row["outcome"] == "fail"]
    assert result.exit is (Exit.UNDONE if failed else Exit.DONE if not failed else None)
    assert all(f"{row['host']} {row['id']} is {row['found']}" in settings.said for row in failed[:20])
