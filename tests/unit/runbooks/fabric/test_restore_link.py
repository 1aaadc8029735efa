"""What is said and offered for each way in which a link fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runbooks.engine.result import Exit
from runbooks.fabric.restore_link import RestoreLink
from runbooks.lib.prometheus import Sample
from tests.unit.runbooks.fakes import offered, said
from tests.unit.runbooks.host_fakes import Cluster, Prometheus, World, nics

WHERE = {"host": "b300-0003", "device": "mlx5_2"}
OUT = {"drain_host", "cordon", "silence"}
THREE = nics(("b300-0000", 2), ("b300-0001", 2), ("b300-0003", 2))

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str, set[str]]] = {
    "one link": (
        {"nic:up": nics(("b300-0003", 2))},
        {"host": "b300-0003"},
        "NIC 2 (mlx5_2) of b300-0003 is down, the other 3 links of rail 2 are up",
        OUT,
    ),
    "rail": (
        {"nic:up": THREE},
        {"pool": "b300", "device": "mlx5_2"},
        "NIC 2 (mlx5_2) is down on 3 of 4 hosts of rail 2 of pool b300 (b300-0000, b300-0001, b300-0003): "
        "look at the switch of the rail, not at the hosts",
        {"silence"},
    ),
    "rail, one host named": (
        {"nic:up": THREE}, {"host": "b300-0003"}, "down on 3 of 4 hosts of rail 2", {"silence"},
    ),
    "leaf": (
        {"nic:up": nics(("b300-0000", 2), ("b300-0001", 2))}, {"pool": "b300"},
        "look at leaf b300-leaf-0, not at the hosts", {"silence"},
    ),
    "missing": (
        {"nic:up": nics(silent=(("b300-0003", 2),))}, {"host": "b300-0003"}, "host b300-0003 reports 7 of 8 NICs", OUT,
    ),
    "flaps": (
        {"nic:up": nics(), "nic:link_downs": [Sample(WHERE, 6.0)]}, {"host": "b300-0003"},
        "NIC 2 (mlx5_2) of b300-0003 went down 6 times in an hour", OUT,
    ),
    "errors": (
        {"nic:up": nics(), "nic:symbol": [Sample(WHERE, 720.0)]}, {"host": "b300-0003"},
        "has 720 symbol errors per hour: clean or replace", OUT,
    ),
    "pauses": (
        {"nic:up": nics(), "nic:pfc": [Sample({"host": "b300-0003", "device": "eth2"}, 5000.0)]}, {"host": "b300-0003"},
        "NIC 2 (eth2) of b300-0003 is paused 5000 times per second", OUT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_fault_is_named_and_answered(case: str, tmp_path: Path) -> None:
    """Host, rail or leaf is blamed; a host is taken out only where that helps."""
    answers, inputs, words, offers = CASES[case]
    result = World(Cluster(pods_there=[]), Prometheus(answers)).run(RestoreLink, tmp_path, **inputs)
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers)


def test_links_that_are_well_offer_nothing(tmp_path: Path) -> None:
    """Nothing found, nothing to do."""
    result = World(prometheus=Prometheus({"nic:up": nics()})).run(RestoreLink, tmp_path)
    assert (result.exit, offered(result)) == (Exit.DONE, set())
    assert "all 48 links of 16 rails are up" in said(result)


def test_no_data_is_cannot_tell(tmp_path: Path) -> None:
    """A fabric that reports nothing is not called well."""
    world = World(prometheus=Prometheus({"no nic:up:bool": 1}))
    assert world.run(RestoreLink, tmp_path, host="b300-0003").exit is Exit.UNKNOWN


def test_hosts_without_a_fabric_are_refused(tmp_path: Path) -> None:
    """By the plan."""
    assert World().run(RestoreLink, tmp_path, host="lab-0").exit is Exit.REFUSED


def test_a_host_is_cordoned_and_let_go(tmp_path: Path) -> None:
    """For a reason of its own, so that nobody else's cordon is touched."""
    world = World(Cluster(pods_there=[]), Prometheus({"nic:up": nics(("b300-0003", 2))}))
    result = world.run(RestoreLink, tmp_path, host="b300-0003", do="cordon", yes=True)
    assert (result.exit, world.kube.written) == (Exit.DONE, ["cordon b300-0003 for run/test"])
