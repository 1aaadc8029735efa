"""One part is started, stopped, paused or killed by name, and what is said of it is what was seen afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.errors import CheckError, ConfigError
from lab.cluster import operate, ssh, status
from lab.cluster.lab import Lab
from lab.cluster.network import Network
from lab.cluster.parts import Part, Probe
from lab.cluster.status import Row
from lab.cluster.supervision import Process, Supervisor


class FakeSupervisor(Supervisor):
    """One part, ``etcd``, that does what it is told at once."""

    def __init__(self, state: str, *, obeys: bool = True) -> None:
        self.process = Process("etcd", state, 7 if state == "RUNNING" else 0, 0.0, "")
        self.obeys, self.told = obeys, list[str]()

    def processes(self) -> dict[str, Process]:
        """What supervisord would say."""
        return {"etcd": self.process}

    def become(self, state: str, pid: int) -> None:
        """Stand so from now on."""
        if self.obeys:
            self.process = Process("etcd", state, pid, 0.0, "")

    def start(self, name: str) -> None:
        """Start it."""
        self.become("STARTING", 8)

    def stop(self, name: str) -> None:
        """End it."""
        self.become("STOPPED", 0)

    def signal(self, name: str, signal: str) -> None:
        """Send a signal."""
        self.told.append(signal)
        if signal == "KILL":
            self.become("STARTING", 8)


@pytest.fixture(autouse=True)
def paused(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Processes that a signal has stopped."""
    found: set[int] = set()
    monkeypatch.setattr(operate, "is_paused", lambda pid: pid in found)
    monkeypatch.setattr(operate, "TRUE_SECONDS", 0.0)
    return found


@pytest.mark.parametrize(
    ("state", "verb", "word"),
    [
        ("RUNNING", "status", "running"),
        ("RUNNING", "stop", "stopped"),
        ("STOPPED", "stop", "stopped"),
        ("STOPPED", "start", "starting"),
        ("STOPPED", "status", "stopped"),
        ("BACKOFF", "status", "failing"),
        ("RUNNING", "kill", "starting"),
        ("RUNNING", "continue", "running"),
    ],
)
def test_each_verb_says_how_the_part_stands_then(state: str, verb: str, word: str) -> None:
    """What is true already stays, and is said all the same."""
    assert operate.act(FakeSupervisor(state), verb, "etcd") == word


def test_paused_part_is_told_from_one_that_runs(paused: set[int]) -> None:
    """For supervisord both run."""
    paused.add(7)
    supervisor = FakeSupervisor("RUNNING")
    assert operate.act(supervisor, "pause", "etcd") == "paused"
    assert supervisor.told == ["STOP"]


def test_paused_part_can_be_stopped() -> None:
    """It goes on first, else it would not take the signal to end."""
    supervisor = FakeSupervisor("RUNNING")
    operate.act(supervisor, "stop", "etcd")
    assert supervisor.told == ["CONT"]


@pytest.mark.parametrize("verb", ["kill", "pause", "continue"])
def test_stopped_part_takes_no_signal(verb: str) -> None:
    """Refused before anything is done."""
    supervisor = FakeSupervisor("STOPPED")
    with pytest.raises(ConfigError, match="etcd — is stopped"):
        operate.act(supervisor, verb, "etcd")
    assert supervisor.told == []


def test_unknown_part_is_refused_with_the_known() -> None:
    """A name that was mistyped touches nothing."""
    with pytest.raises(ConfigError, match="no 'etdc' — there are etcd"):
        operate.act(FakeSupervisor("RUNNING"), "stop", "etdc")


@pytest.mark.parametrize("verb", ["stop", "pause", "kill"])
def test_what_did_not_come_true_is_no_success(verb: str) -> None:
    """The part is looked at again after the order."""
    with pytest.raises(CheckError, match="etcd — is running after"):
        operate.act(FakeSupervisor("RUNNING", obeys=False), verb, "etcd")


@pytest.mark.parametrize(
    ("state", "pid", "wrong", "word"),
    [
        ("STOPPED", 0, "refused", "stopped"),
        ("RUNNING", 7, "", "works"),
        ("RUNNING", 8, "timed out", "stopped"),
        ("RUNNING", 7, "timed out", "fails"),
        ("BACKOFF", 0, "refused", "ended"),
    ],
    ids=["stopped", "works", "paused", "hangs", "dies"],
)
def test_status_tells_an_order_from_a_fault(
    monkeypatch: pytest.MonkeyPatch, state: str, pid: int, wrong: str, word: str
) -> None:
    """A part that somebody stopped or paused is not one that failed."""
    monkeypatch.setattr(status, "is_paused", lambda pid: pid == 8)
    monkeypatch.setattr(status, "_row", lambda *fields: Row(*fields[:4], 0, "", *fields[4:]))
    part = Part("etcd", (), (), Probe("process"))
    assert status.part_row(part, "", Process("etcd", state, pid, 0.0, ""), wrong, {7: 7, 8: 8}).state == word


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab whose server has a key."""
    monkeypatch.setattr(ssh, "host_key", lambda lab: "ssh-ed25519 AAAA")
    return Lab("f2af6c09", tmp_path, tmp_path / "a state", tmp_path / "bin", Network(77))


def test_every_host_is_known_before_the_first_connection(lab: Lab) -> None:
    """By address and port, as both OpenSSH and paramiko look it up."""
    ssh.ensure(lab)
    assert (lab.state / "secrets/ssh/known_hosts").read_text().splitlines() == [
        "[10.77.0.2]:2222 ssh-ed25519 AAAA",
        "[10.77.0.3]:2222 ssh-ed25519 AAAA",
    ]


def test_ssh_files_are_the_owners_and_stay(lab: Lab) -> None:
    """A second start gives nobody a new key."""
    ssh.ensure(lab)
    folder = lab.state / "secrets/ssh"
    before = {path: path.read_text() for path in folder.iterdir()}
    ssh.ensure(lab)
    assert {path: path.read_text() for path in folder.iterdir()} == before
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_only_the_labs_key_may_come_in(lab: Lab) -> None:
    """The one line in authorized_keys is the public half of the user's key."""
    ssh.ensure(lab)
    public = (lab.state / "secrets/ssh/id_ed25519.pub").read_text()
    assert (lab.config / ssh.ACCESS / "authorized_keys").read_text() == public


def test_ssh_asks_nothing_and_believes_only_known_hosts(lab: Lab) -> None:
    """A folder with a space in its name is one word."""
    made = ssh.client_config(lab)
    assert "StrictHostKeyChecking yes" in made
    assert f'IdentityFile "{lab.state}/secrets/ssh/id_ed25519"' in made
    assert "Host lab-1\n    HostName 10.77.0.3" in made
