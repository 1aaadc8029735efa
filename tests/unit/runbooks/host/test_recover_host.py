"""What is said and offered for each way in which a host is lost, and how one comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runbooks.engine.discover import load
from runbooks.engine.result import Exit
from runbooks.engine.run import Site, undo
from runbooks.host.recover_host import RecoverHost
from tests.unit.runbooks.fakes import offered, said
from tests.unit.runbooks.host_fakes import Cluster, Prometheus, Ssh, World, all_hosts, gpus, host, nics

LOST = all_hosts(host("lab-1", ready=False))
LEAF = all_hosts(host("b300-0000", ready=False), host("b300-0001", ready=False))

CASES: dict[str, tuple[World, dict[str, Any], str, set[str]]] = {
    "kubelet stopped": (
        World(Cluster(hosts_there=LOST), hosts=Ssh(states={"lab-1/kubelet-1": "stopped"})),
        {"host": "lab-1"},
        "host lab-1: kubelet does not run (service kubelet-1 is stopped)",
        {"start_service", "cordon", "drain_host", "silence"},
    ),
    "containerd hangs": (
        World(Cluster(hosts_there=LOST), hosts=Ssh(states={"lab-1/containerd-1": "paused"})),
        {"host": "lab-1"},
        "containerd hangs (stopped by a signal)",
        {"start_service", "cordon", "drain_host", "silence"},
    ),
    "machine gone": (
        World(Cluster(hosts_there=LOST), hosts=Ssh(silent=("lab-1",))),
        {"host": "lab-1"},
        "host lab-1 cannot be asked over ssh",
        {"cordon", "silence"},
    ),
    "not ready": (
        World(Cluster(hosts_there=all_hosts(host("b300-0003", ready=False)))),
        {"host": "b300-0003"},
        "host b300-0003 is not ready (NotReady): its kubelet has not reported, since 20",
        {"cordon", "silence"},
    ),
    "leaf": (
        World(Cluster(hosts_there=LEAF)),
        {"pool": "b300", "leaf": "b300-leaf-0"},
        "all 2 hosts of leaf b300-leaf-0 of pool b300 are not ready: look at the leaf switch",
        {"silence"},
    ),
    "our cordon": (
        World(Cluster(hosts_there=all_hosts(host("lab-1", cordoned="run/x")))),
        {"host": "lab-1"},
        "host lab-1 is cordoned for run/x",
        {"uncordon", "silence"},
    ),
    "cordon of others": (
        World(Cluster(hosts_there=all_hosts(host("lab-1", cordoned="")))),
        {"host": "lab-1"},
        "host lab-1 is cordoned by somebody else",
        {"silence"},
    ),
}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_fault_is_named_and_answered(case: str, tmp_path: Path) -> None:
    """The diagnosis says the fault in words, and offers what helps against it and nothing else."""
    world, inputs, words, offers = CASES[case]
    result = world.run(RecoverHost, tmp_path, **inputs)
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers - {"drain_host"})


def test_hosts_that_are_well_offer_nothing(tmp_path: Path) -> None:
    """Nothing found, nothing to do."""
    result = World().run(RecoverHost, tmp_path)
    assert (result.exit, offered(result)) == (Exit.DONE, set())
    assert "ready: b300-0000, b300-0001, b300-0002, b300-0003 and 4 more" in said(result)


def test_no_api_server_is_cannot_tell(tmp_path: Path) -> None:
    """Hosts that nobody speaks of are not called well."""
    assert World(Cluster(api_down=True)).run(RecoverHost, tmp_path, host="lab-1").exit is Exit.UNKNOWN


def test_a_leaf_that_lives_in_part_is_not_blamed(tmp_path: Path) -> None:
    """One host of two is a host."""
    result = World(Cluster(hosts_there=all_hosts(host("b300-0000", ready=False)))).run(RecoverHost, tmp_path)
    assert "hosts of leaf" not in said(result)


def test_what_stopped_is_started(tmp_path: Path) -> None:
    """Only what does not run, by the name that the host knows it by."""
    world = World(Cluster(hosts_there=all_hosts()), hosts=Ssh(states={"lab-1/kubelet-1": "stopped"}))
    result = world.run(RecoverHost, tmp_path, host="lab-1", do="start_service", yes=True)
    assert (result.exit, world.hosts.written) == (Exit.DONE, ["start lab-1/kubelet-1"])


def test_a_host_that_is_well_is_not_cordoned(tmp_path: Path) -> None:
    """``do`` that the findings do not call for stops before any write."""
    world = World()
    result = world.run(RecoverHost, tmp_path, host="lab-1", do="cordon", yes=True)
    assert (result.exit, world.kube.written) == (Exit.REFUSED, [])


def test_a_host_is_loaded_before_it_takes_pods(tmp_path: Path) -> None:
    """First the load, then the cordon goes; undo brings it back."""
    world = World(Cluster(hosts_there=all_hosts(host("lab-1", cordoned="run/x"))))
    result = world.run(RecoverHost, tmp_path, host="lab-1", do="uncordon", yes=True)
    assert (result.exit, world.kube.written) == (Exit.DONE, ["uncordon lab-1 for run/x"])
    assert "sha256sum /dev/zero" in world.hosts.written[0]
    undo(result.run_id, load=load, site=Site(runs=tmp_path / "runs", connect=world.connect))
    assert world.kube.written[-1] == "cordon lab-1 for run/x"


REFUSED: dict[str, tuple[World, str, str]] = {
    "gpu missing": (
        World(Cluster(hosts_there=all_hosts(host("b300-0001", gpus=7, cordoned="run/x"))),
              Prometheus({"gpu:temperature": gpus(("b300-0001", 3))[8:15], "nic:up": nics()[:8]})),
        "b300-0001", "7 GPUs report, 7 are offered",
    ),
    "nic down": (
        World(Cluster(hosts_there=all_hosts(host("b300-0001", cordoned="run/x"))),
              Prometheus({"gpu:temperature": gpus()[:8], "nic:up": nics()[:7]})),
        "b300-0001", "7 NICs are up",
    ),
    "pressure": (
        World(Cluster(hosts_there=all_hosts(host("lab-1", cordoned="run/x", DiskPressure="no room")))),
        "lab-1", "has DiskPressure",
    ),
    "service down": (
        World(Cluster(hosts_there=all_hosts(host("lab-1", cordoned="run/x"))),
              hosts=Ssh(states={"lab-1/kubelet-1": "failing"})),
        "lab-1", "kubelet ends again and again",
    ),
    "not cordoned": (World(), "lab-1", "is not cordoned"),
    "somebody else": (World(Cluster(hosts_there=all_hosts(host("lab-1", cordoned="")))), "lab-1", "by somebody else"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_a_host_that_is_not_fit_stays_cordoned(case: str, tmp_path: Path) -> None:
    """Every reason is told before anything is touched."""
    world, name, words = REFUSED[case]
    result = world.run(RecoverHost, tmp_path, host=name, do="uncordon", yes=True)
    assert (result.exit, world.kube.written) == (Exit.REFUSED, [])
    assert words in said(result)
