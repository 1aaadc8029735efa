"""What is said and offered for each way in which a GPU is lost or ill."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infra.catalog.xids import SERIOUS
from runbooks.engine.result import Exit
from runbooks.gpu import _xids
from runbooks.gpu.replace_gpu import ReplaceGpu
from runbooks.lib.prometheus import Sample
from tests.unit.runbooks.fakes import offered, said
from tests.unit.runbooks.host_fakes import Cluster, Prometheus, World, all_hosts, gpus, host, nics

WHERE = {"host": "b300-0001", "pool": "b300", "leaf": "b300-leaf-0", "gpu": "3"}
OUT, LEAVES = {"drain_host", "cordon", "silence"}, {"drain_host", "silence"}

CASES: dict[str, tuple[dict[str, Any], str, set[str]]] = {
    "xid 79": (
        {"gpu:xid_recent": [Sample({**WHERE, "xid": "79"}, 1.0)]},
        "GPU 3 of b300-0001 fell off the bus (Xid 79): restart the host; replace it if that comes again",
        OUT,
    ),
    "xid 119": (
        {"gpu:xid_recent": [Sample({**WHERE, "xid": "119"}, 1.0)]},
        "GPU 3 of b300-0001 had a timeout of its system processor (GSP) (Xid 119): reset the GPU; "
        "upgrade the driver if that comes again",
        OUT,
    ),
    "xid of an application": (
        {"gpu:xid_recent": [Sample({**WHERE, "xid": "31"}, 1.0)]},
        "GPU 3 of b300-0001 reported a fault (Xid 31): look at the application",
        {"silence"},
    ),
    "lost": (
        {"gpu:temperature": gpus(("b300-0001", 5))},
        "GPU 5 of b300-0001 is lost: it reports nothing, as one that fell off the bus does",
        OUT,
    ),
    "lost with its Xid": (
        {"max_over_time(gpu:xid_code": 79.0, "gpu:temperature": gpus(("b300-0001", 5))},
        "GPU 5 of b300-0001 is lost: it reports nothing; it fell off the bus (Xid 79)",
        OUT,
    ),
    "all of a host": (
        {"gpu:temperature": gpus(*(("b300-0001", n) for n in range(8)))},
        "8 of 8 GPUs of b300-0001 report nothing: its exporter, its driver or its fabric manager",
        OUT,
    ),
    "ecc": ({"gpu:ecc": [Sample(WHERE, 2.0)]}, "had 2 memory errors that ECC could not correct", LEAVES),
    "row": ({"gpu:row_remap": [Sample(WHERE, 1.0)]}, "has no spare row left for a bad one: replace it", LEAVES),
    "nvlink": (
        {"gpu:nvlink": [Sample({**WHERE, "kind": "replay"}, 4.0)]}, "had 4 NVLink errors (replay)", LEAVES,
    ),
    "hot": ({"> 85": [Sample(WHERE, 95.0)]}, "is at 95 °C: look at fans", LEAVES),
    "throttled": (
        {"CLOCK_EVENTS": [Sample({**WHERE, "clock_event": "hw_thermal"}, 1.0)]}, "is slowed down (hw_thermal)",
        LEAVES,
    ),
    "power": ({"gpu:power": [Sample(WHERE, 1300.0)]}, "draws 1300 W, more than its board is built for", {"silence"}),
}  # fmt: skip


def ask(answers: dict[str, Any], cluster: Cluster | None = None) -> World:
    """A world in which all GPUs are well but for these answers."""
    every = {"> 85": []} | answers
    every.setdefault("gpu:temperature", gpus())
    return World(cluster or Cluster(pods_there=[]), Prometheus(every))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_each_fault_is_named_and_answered(case: str, tmp_path: Path) -> None:
    """GPU, host, what it did and what to do; offered is what takes its host out, and silence."""
    answers, words, offers = CASES[case]
    result = ask(answers).run(ReplaceGpu, tmp_path, host="b300-0001")
    assert words in said(result)
    assert (result.exit, offered(result)) == (Exit.DONE, offers)


def test_gpus_that_are_well_offer_nothing(tmp_path: Path) -> None:
    """Nothing found, nothing to do."""
    result = ask({}).run(ReplaceGpu, tmp_path)
    assert (result.exit, offered(result)) == (Exit.DONE, set())
    assert "all 48 GPUs of b300-0000, b300-0001, b300-0002, b300-0003 and 2 more report" in said(result)


def test_no_data_is_cannot_tell(tmp_path: Path) -> None:
    """A fleet that reports nothing is not called well."""
    world = World(prometheus=Prometheus({"no gpu:temperature_celsius": 1}))
    assert world.run(ReplaceGpu, tmp_path, host="b300-0001").exit is Exit.UNKNOWN


@pytest.mark.parametrize(
    ("answers", "offers"),
    [({}, {"uncordon", "silence"}), ({"gpu:ecc": [Sample(WHERE, 2.0)]}, {"drain_host", "silence"})],
    ids=["well", "still ill"],
)
def test_a_host_comes_back_once_its_gpus_are_well(answers: dict[str, Any], offers: set[str], tmp_path: Path) -> None:
    """Offered for a cordon of ours, as long as nothing is wrong with the host."""
    cluster = Cluster(pods_there=[], hosts_there=all_hosts(host("b300-0001", cordoned="run/x")))
    here = ask({"nic:up": nics()} | answers, cluster)
    assert offered(here.run(ReplaceGpu, tmp_path, host="b300-0001")) == offers


def test_another_gpu_is_not_told(tmp_path: Path) -> None:
    """Who asks for one GPU hears of that one."""
    answers = {"gpu:xid_recent": [Sample({**WHERE, "xid": "79"}, 1.0)]}
    assert "Xid 79" not in said(ask(answers).run(ReplaceGpu, tmp_path, host="b300-0001", gpu="4"))


def test_hosts_without_gpus_are_refused(tmp_path: Path) -> None:
    """By the plan, so that absence is not taken for loss."""
    result = ask({}).run(ReplaceGpu, tmp_path, host="lab-0")
    assert (result.exit, "have no GPUs by the plan" in said(result)) == (Exit.REFUSED, True)


def test_fewer_gpus_than_planned_are_told(tmp_path: Path) -> None:
    """What Kubernetes offers is held against the board."""
    cluster = Cluster(pods_there=[], hosts_there=all_hosts(host("b300-0001", gpus=7)))
    assert "host b300-0001 offers 7 of the 8 GPUs of its board" in said(
        ask({}, cluster).run(ReplaceGpu, tmp_path, host="b300-0001")
    )


@pytest.mark.parametrize("code", SERIOUS)
def test_every_serious_xid_has_something_to_be_done(code: int) -> None:
    """No alert without an action."""
    assert _xids.action(code) != "look at the application"
