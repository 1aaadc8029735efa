"""Disks that fill, hosts that are short of something, settings and clocks that are wrong."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from runbooks.engine.discover import load
from runbooks.engine.result import Exit
from runbooks.engine.run import Site, undo
from runbooks.host._images import chosen
from runbooks.host.free_disk import FreeDisk
from runbooks.host.relieve_host import RelieveHost
from runbooks.host.retune_host import RetuneHost
from runbooks.lib.diagnosis import services
from runbooks.lib.prometheus import Sample
from runbooks.lib.writing import Result as Ran
from tests.unit.runbooks.fakes import offered, said
from tests.unit.runbooks.host_fakes import Cluster, Prometheus, Ssh, World, all_hosts, host

DF = "Mounted on 1B-blocks Avail\n/ 1000000000000 {}\n"
BIG = "20971520 2026-12-02 03:10 /srv/fill\n2048000 2026-11-01 00:00 /opt/model.bin\n"
USAGE: dict[str, Any] = {
    "host:memory_used": 0.5, "host:memory_stalled": 0.0, "host:cpu_used": 0.2, "host:network_bad": 0.0,
    "host:tcp_retransmits": 0.0,
    "container_memory": [Sample({"namespace": "models", "pod": "tiny-1"}, 9 * 2**30)],
    "container_cpu": [Sample({"namespace": "models", "pod": "tiny-1"}, 1.9)],
}  # fmt: skip
PS = Ran(0, "77 2097152 stress-ng\n", "")


def disk(free: int, find: str = BIG) -> Ssh:
    return Ssh(answers={"df ": Ran(0, DF.format(free), ""), "find ": Ran(0, find, "")})


def test_a_full_disk_is_named_with_its_largest_files(tmp_path: Path) -> None:
    """How full, what is largest and of when; in the lab no image can be pulled again, so none goes."""
    result = World(hosts=disk(90_000_000_000)).run(FreeDisk, tmp_path, host="lab-0", mountpoint="/")
    assert "disk / of lab-0 is 91% full, 83.8 GiB left" in said(result)
    assert "/srv/fill 10.0 GiB (2026-12-02 03:10); /opt/model.bin 1.0 GiB" in said(result)
    assert (result.exit, "free_space" in offered(result)) == (Exit.DONE, False)


def test_a_disk_with_room_offers_nothing(tmp_path: Path) -> None:
    """Nothing found, nothing to do."""
    result = World(hosts=disk(500_000_000_000)).run(FreeDisk, tmp_path, host="lab-0")
    assert (result.exit, offered(result)) == (Exit.DONE, set())
    assert "no disk of lab-0 is full: / is 50% full" in said(result)


def test_a_simulated_host_has_no_disk(tmp_path: Path) -> None:
    """Refused before anything is asked."""
    assert World().run(FreeDisk, tmp_path, host="b300-0000").exit is Exit.REFUSED


@pytest.mark.parametrize(
    ("image", "goes"),
    [
        ({"id": "a", "repoTags": ["old:1"], "size": "5"}, True),
        ({"id": "b", "repoTags": ["x"]}, False),
        ({"id": "c", "repoDigests": ["used@sha256:1"]}, False),
        ({"id": "d", "repoDigests": ["plan@sha256:2"]}, False),
        ({"id": "e", "pinned": True}, False),
    ],
    ids=["unused", "used by id", "used by digest", "planned", "pinned"],
)
def test_only_images_that_nobody_needs_are_freed(image: dict[str, Any], goes: bool) -> None:
    """Neither what runs, by whatever name, nor what the plan may start next."""
    assert bool(chosen([image], {"b", "used@sha256:1"}, {"plan@sha256:2"})) is goes


SHORT: dict[str, tuple[dict[str, Any], str]] = {
    "memory": ({"host:memory_used": 0.97}, "has 3% of its memory left and stands still for it 0% of the time; largest: "
               "pod models/tiny-1 9216 MiB; stress-ng (process 77) 2048 MiB"),
    "stalled": ({"host:memory_stalled": 0.4}, "stands still for it 40% of the time"),
    "cpu": ({"host:cpu_used": 0.99}, "the CPUs of host lab-0 are 99% busy; busiest: pod models/tiny-1 1.90 CPUs"),
    "retransmits": ({"host:tcp_retransmits": 0.2}, "host lab-0 loses packets: 0.00% of its packets are bad or dropped, "
                    "20.00% of its TCP segments are sent again (no interface counts errors"),
    "drops": ({"host:network_bad": 0.1, "node_network_": [Sample({"device": "eth0"}, 7.0)]}, "(eth0 7.0/s)"),
}  # fmt: skip


@pytest.mark.parametrize("case", SHORT, ids=str)
def test_what_a_host_is_short_of_is_named_with_its_users(case: str, tmp_path: Path) -> None:
    """The resource, and who uses it, beside Kubernetes too."""
    answers, words = SHORT[case]
    result = World(prometheus=Prometheus(USAGE | answers), hosts=Ssh(answers={"ps ": PS})).run(
        RelieveHost, tmp_path, host="lab-0"
    )
    assert words in said(result)
    assert (result.exit, {"cordon", "silence"} <= offered(result)) == (Exit.DONE, True)


def test_pressure_counts_whatever_the_numbers_say(tmp_path: Path) -> None:
    """A kubelet that evicts is short of memory."""
    hosts = all_hosts(host("lab-0", MemoryPressure="kubelet has insufficient memory available"))
    world = World(Cluster(hosts_there=hosts), Prometheus(USAGE), hosts=Ssh(answers={"ps ": PS}))
    assert "its kubelet evicts pods (MemoryPressure)" in said(world.run(RelieveHost, tmp_path, host="lab-0"))


def test_a_filter_that_drops_is_named(tmp_path: Path) -> None:
    """A partition that somebody made looks like a bad network."""
    ssh = Ssh(answers={"nft ": Ran(0, "table inet cut {\n numgen random mod 100 < 20 drop\n}", "")})
    world = World(prometheus=Prometheus(USAGE | {"host:tcp_retransmits": 0.2}), hosts=ssh)
    assert "drops packets: numgen random mod 100 < 20 drop" in said(world.run(RelieveHost, tmp_path, host="lab-0"))


def test_unmeasured_use_is_cannot_tell(tmp_path: Path) -> None:
    """No data is no rest."""
    assert World().run(RelieveHost, tmp_path, host="lab-0").exit is Exit.UNKNOWN


def tuned(off: float = 0.0, **wrong: str) -> Ssh:
    right = {"net.core.somaxconn": "4096", "vm.max_map_count": "65530", "kernel.numa_balancing": "0"}
    values = right | {key.replace("__", "."): value for key, value in wrong.items()}
    answers = {f"sysctl -n {key}": Ran(0, f"{value}\n", "") for key, value in values.items()}
    return Ssh(answers=answers | {"date ": Ran(0, f"{time.time() + off}\n", "")})


def test_a_setting_that_drifted_is_named(tmp_path: Path) -> None:
    """Which, what it is, what the plan has and why."""
    result = World(hosts=tuned(net__core__somaxconn="128")).run(RetuneHost, tmp_path, host="lab-0")
    assert "net.core.somaxconn of lab-0 is 128, the plan has 4096 or more" in said(result)
    assert (result.exit, "tune" in offered(result)) == (Exit.DONE, True)


def test_a_setting_is_put_right_and_back(tmp_path: Path) -> None:
    """Only what differs is written; undo writes what was there."""
    world = World(hosts=tuned(net__core__somaxconn="128"))
    result = world.run(RetuneHost, tmp_path, host="lab-0", do="tune", yes=True)
    assert (result.exit, world.hosts.written) == (Exit.DONE, ["sysctl -w net.core.somaxconn=4096"])
    undo(result.run_id, load=load, site=Site(runs=tmp_path / "runs", connect=world.connect))
    assert world.hosts.written[-1] == "sysctl -w net.core.somaxconn=128"


CLOCKS: dict[str, tuple[float, dict[str, Any], str]] = {
    "ahead of ours": (42.0, {}, "clock of lab-0 is 42 s ahead of that of this machine"),
    "behind Prometheus": (0.0, {"host:clock_skew": -42.0}, "clock of lab-0 is 42 s behind that of Prometheus"),
    "moved": (0.0, {"max_over_time(node_boot": 300.0}, "clock of lab-0 was moved by 300 s within 15 minutes"),
}


@pytest.mark.parametrize("case", CLOCKS, ids=str)
def test_a_wrong_clock_is_told_by_how_much(case: str, tmp_path: Path) -> None:
    """Against ours, against Prometheus', and against itself."""
    off, answers, words = CLOCKS[case]
    result = World(prometheus=Prometheus(answers), hosts=tuned(off)).run(RetuneHost, tmp_path, host="lab-0")
    assert words in said(result)


def test_settings_and_clock_that_are_right_offer_nothing(tmp_path: Path) -> None:
    """Nothing found, nothing to do; Prometheus is not needed for that."""
    result = World(prometheus=Prometheus(is_down=True), hosts=tuned()).run(RetuneHost, tmp_path, host="lab-0")
    assert (result.exit, offered(result)) == (Exit.DONE, set())


def test_a_setting_that_the_plan_does_not_know_is_refused(tmp_path: Path) -> None:
    """With the names of those that it knows."""
    result = World(hosts=tuned()).run(RetuneHost, tmp_path, host="lab-0", setting="vm.swappiness")
    assert (result.exit, "name one of net.core.somaxconn" in said(result)) == (Exit.REFUSED, True)


@pytest.fixture
def real(monkeypatch: pytest.MonkeyPatch) -> None:
    """A target whose images come from a registry, and whose services systemd keeps."""
    monkeypatch.setattr(services, "in_lab", lambda ctx: False)


def test_unused_images_and_old_journals_are_freed(real: None, tmp_path: Path) -> None:
    """Image by image, what runs is kept; only beside a disk that is full."""
    images = '{"images": [{"id": "a", "repoTags": ["old:1"], "size": "5"}, {"id": "b", "repoTags": ["new:1"]}]}'
    answers = {"crictl images": Ran(0, images, ""), "crictl ps": Ran(0, '{"containers": [{"imageRef": "b"}]}', "")}
    world = World(hosts=Ssh(answers=disk(90_000_000_000).answers | answers))
    result = world.run(FreeDisk, tmp_path, host="lab-0", do="free_space", yes=True)
    assert (result.exit, world.hosts.written) == (Exit.DONE, ["crictl rmi old:1", "journalctl --vacuum-size=1G"])


def test_a_disk_with_room_is_not_cleaned(real: None, tmp_path: Path) -> None:
    """Unused images are no fault by themselves."""
    answers = {"crictl images": Ran(0, '{"images": []}', ""), "crictl ps": Ran(0, '{"containers": []}', "")}
    world = World(hosts=Ssh(answers=disk(500_000_000_000).answers | answers))
    result = world.run(FreeDisk, tmp_path, host="lab-0", do="free_space", yes=True)
    assert (result.exit, world.hosts.written) == (Exit.REFUSED, [])


def test_a_clock_that_nothing_keeps_is_named(real: None, tmp_path: Path) -> None:
    """The service that is there and does not run is offered to be started."""
    stopped = Ran(0, "LoadState=loaded\nActiveState=inactive\n", "")
    world = World(hosts=Ssh(answers=tuned().answers | {"ActiveState chronyd": stopped}))
    result = world.run(RetuneHost, tmp_path, host="lab-0")
    assert "nothing keeps the clock of lab-0: chronyd does not run" in said(result)
    assert "start_service" in offered(result)
