"""What the lab does to the machine is known by name, and undone by name."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from infra.errors import CheckError
from lab.cluster import cgroups, init, leftovers, marks, namespace, registry, stop
from lab.cluster.hosts import HOSTS
from lab.cluster.lab import Lab, remember, remembered
from lab.cluster.lab import replace as write
from lab.cluster.leftovers import Leftover
from lab.cluster.network import Network, Ports
from lab.cluster.registry import Record

LIVING = Record("aaaaaaaa", "/a", os.getpid(), registry.birth(os.getpid()), 77, simulated=False)
DEAD = Record("bbbbbbbb", "/b", os.getpid(), "another boot/1", 78, simulated=False)


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of its own: entries and cgroups in a folder, no processes of labs."""
    monkeypatch.setattr(registry, "folder", lambda: tmp_path / "run")
    monkeypatch.setattr(cgroups, "UNIFIED", tmp_path / "cgroup")
    monkeypatch.setattr(leftovers, "LINKS", tmp_path / "net")
    monkeypatch.setattr(marks, "processes", lambda mark, lab_id: [])
    monkeypatch.setattr(leftovers, "is_watched", lambda record: False)
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "cgroup/cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids rdma\n")
    return tmp_path


def test_reused_pid_is_not_the_lab() -> None:
    """After a restart of the machine, another program may have the number."""
    assert LIVING.is_alive
    assert not DEAD.is_alive


def test_entries_are_read_back_and_go_without_trace(machine: Path) -> None:
    """The last one takes the folder along."""
    registry.write(LIVING)
    assert registry.read("aaaaaaaa") == LIVING
    registry.remove("aaaaaaaa")
    assert not (machine / "run").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"lab_id": "aaaaaaaa"}', '{"unknown": 1}'])
def test_damaged_entry_is_no_entry(machine: Path, text: str) -> None:
    """Half a file stops nothing."""
    registry.write(LIVING)
    (machine / "run/aaaaaaaa.json").write_text(text)
    assert registry.read_all() == []


def test_only_dead_labs_leave_leftovers(machine: Path) -> None:
    """A living lab of another clone keeps its cgroup and entry; the dead one's are found."""
    for record in (LIVING, DEAD):
        registry.write(record)
        (machine / f"cgroup/railwright-{record.lab_id}").mkdir()
    assert leftovers.find() == [
        Leftover("entry", "bbbbbbbb", "bbbbbbbb"),
        Leftover("cgroup", "railwright-bbbbbbbb", "bbbbbbbb"),
    ]


@pytest.mark.parametrize(("procs", "count"), [("", 1), ("4711\n", 0)], ids=["empty", "in use"])
def test_cgroup_without_entry_is_removed_only_when_empty(machine: Path, procs: str, count: int) -> None:
    """A lab that runs but lost its entry is spared."""
    (machine / "cgroup/railwright-cccccccc").mkdir()
    (machine / "cgroup/railwright-cccccccc/cgroup.procs").write_text(procs)
    assert len(leftovers.find()) == count


@pytest.mark.parametrize("name", ["railwright-docs", "railwright-aaaaaaaab", "railwright"])
def test_similar_names_are_not_ours(machine: Path, name: str) -> None:
    """A cgroup that only looks alike is nobody's leftover."""
    (machine / "cgroup" / name).mkdir()
    assert leftovers.find() == []


def test_own_lab_without_entry_is_taken_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two sets of parts on one state folder would destroy it."""
    monkeypatch.setattr(marks, "processes", lambda mark, lab_id: [4711])
    assert leftovers.find(own="dddddddd") == [Leftover("process", "4711", "dddddddd")]


def test_watched_lab_is_left_to_its_watcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is about to come back; only its own start may clean up first."""
    registry.write(DEAD)
    monkeypatch.setattr(leftovers, "is_watched", lambda record: True)
    assert leftovers.find() == []
    assert leftovers.find(own="bbbbbbbb") == [Leftover("entry", "bbbbbbbb", "bbbbbbbb")]


def test_cleaning_removes_folders_that_were_made_for_a_mount(machine: Path) -> None:
    """But only when nobody put anything into them."""
    empty, used = machine / "empty", machine / "used"
    for folder in (empty, used):
        folder.mkdir()
    (used / "theirs").touch()
    registry.write(replace(DEAD, folders=(str(empty), str(used))))
    leftovers.clean()
    assert (empty.exists(), used.exists()) == (False, True)
    assert registry.read_all() == []


def test_living_lab_inherits_a_folder_that_it_uses(machine: Path) -> None:
    """Whoever goes last removes it."""
    folder = machine / "cni"
    folder.mkdir()
    registry.write(LIVING)
    registry.write(replace(DEAD, folders=(str(folder),)))
    leftovers.clean()
    heir = registry.read("aaaaaaaa")
    assert heir is not None
    assert (folder.exists(), heir.folders) == (True, (str(folder),))


def test_cgroup_v2_hands_controllers_down_and_keeps_processes_in_a_leaf(machine: Path) -> None:
    """By the book: subtree control above, processes only in ``parts``."""
    for folder in ("railwright-x", "railwright-x/parts", "railwright-x/lab-1"):
        (machine / "cgroup" / folder).mkdir()
        (machine / "cgroup" / folder / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n")
    cgroups.enter("railwright-x", 4711, ["lab-1"])
    control = (machine / "cgroup/railwright-x/cgroup.subtree_control").read_text()
    assert set(control.split()) == {"+cpuset", "+cpu", "+io", "+memory", "+hugetlb", "+pids"}
    assert (machine / "cgroup/railwright-x/parts/cgroup.procs").read_text() == "4711"
    assert not (machine / "cgroup/railwright-x/cgroup.procs").exists()


def test_missing_controllers_are_named(machine: Path) -> None:
    """A kubelet without them would end with a riddle."""
    (machine / "cgroup/cgroup.controllers").write_text("cpu memory\n")
    assert cgroups.missing() == {"cpuset", "pids"}


def test_network_is_remembered_between_starts(machine: Path) -> None:
    """Addresses survive the lab."""
    lab = Lab("f2af6c09", machine, machine, machine, Network(77, True, Ports.on_loopback(21000)))
    remember(lab)
    assert remembered(machine) == lab.network


def test_same_text_is_not_written_again(machine: Path) -> None:
    """So that nobody who watches the file wakes up."""
    assert write(machine / "file", "text") is True
    assert write(machine / "file", "text") is False
    assert (machine / "file").stat().st_mode & 0o777 == 0o600


def test_purge_leaves_what_is_not_the_clusters(machine: Path) -> None:
    """Tools, images and secrets belong to other steps."""
    for name in (
        "pki/ca.key",
        "kubelet-1/x",
        "containerd-1/x",
        "secrets/ssh/id_ed25519",
        "log/etcd.log",
        "log/etcd.log.1",
        "log/up/tools.log",
        "bin/etcd",
        "images.json",
    ):
        (machine / name).parent.mkdir(parents=True, exist_ok=True)
        (machine / name).touch()
    stop.remove_state(machine)
    left = {str(path.relative_to(machine)) for path in machine.rglob("*") if path.is_file()}
    assert left == {"log/up/tools.log", "bin/etcd", "images.json", "cgroup/cgroup.controllers"}


def test_kernel_settings_are_those_that_a_kubelet_wants() -> None:
    """With one missing, the kubelet refuses to start, for it may not change it."""
    assert set(init.KERNEL_SETTINGS) == {
        "vm/overcommit_memory",
        "vm/panic_on_oom",
        "kernel/panic",
        "kernel/panic_on_oops",
        "kernel/keys/root_maxkeys",
        "kernel/keys/root_maxbytes",
    }


@pytest.mark.parametrize(("stays", "refused"), [(False, False), (True, True)], ids=["kernel was quicker", "it stays"])
def test_cannot_find_device_on_the_way_down(monkeypatch: pytest.MonkeyPatch, *, stays: bool, refused: bool) -> None:
    """A link that the kernel removed between look and deletion is gone, which is what was wanted."""
    looks = iter([True, stays])
    monkeypatch.setattr(namespace, "is_linked", lambda link: next(looks))

    def fail(*argv: str) -> str:
        raise CheckError("Cannot find device")

    monkeypatch.setattr(namespace, "run", fail)
    if refused:
        with pytest.raises(CheckError, match="Cannot find device"):
            namespace.disconnect("rw-aaaaaaaa")
    else:
        namespace.disconnect("rw-aaaaaaaa")


def test_root_gets_a_home_of_the_labs_own() -> None:
    """Who may come in is decided by the lab, not by what lies in the home of the machine's root."""
    accounts = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
    assert init.with_home(accounts, "/run/root").splitlines() == [
        "root:x:0:0:root:/run/root:/bin/bash",
        "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin",
    ]


def test_pods_of_every_host_may_call_themselves() -> None:
    """kube-proxy does it for the first host's; the rules are for the others'."""
    network = Network(77)
    assert [network.pods_of(host) in init.masquerades(network) for host in HOSTS] == [False, True]


def test_pods_get_answers_from_beyond_the_link() -> None:
    """Remote write timed out: the machine has no route to pods, so their packets must leave as their host's."""
    network = Network(77)
    assert f'ip saddr {network.pods} oifname "eth0" masquerade' in init.masquerades(network)
