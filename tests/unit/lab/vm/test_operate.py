"""Machines up and down: what a cut-off run left is taken up, and what is asked for in vain is refused."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from infra.errors import CheckError, ConfigError
from lab import paths
from lab.vm import accelerator, image, operate, process


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone without machines, on which none can be started."""
    monkeypatch.setattr(paths, "repo_root", lambda: tmp_path)
    monkeypatch.setattr(image, "file", lambda: tmp_path / "bookworm-abc.raw")
    monkeypatch.setattr(process, "running", lambda one: [])
    monkeypatch.setattr(process, "running_all", lambda lab_id: [])
    return tmp_path


def have(clone: Path, *ports: int) -> None:
    """Machines that were made, and are off."""
    for index, port in enumerate(ports):
        folder = clone / f".lab/vm/vm-{index}"
        folder.mkdir(parents=True)
        (folder / "port").write_text(f"{port}\n")


@pytest.mark.parametrize(
    ("there", "count", "said"),
    [(0, 0, "1 to 16"), (0, 17, "1 to 16"), (3, 2, "lab vm down")],
    ids=["none", "too many", "fewer than there are"],
)
def test_a_number_that_cannot_be_had_is_refused(clone: Path, there: int, count: int, said: str) -> None:
    """Before anything is touched; no machine is taken away without being told."""
    have(clone, *range(22_000, 22_000 + there))
    with pytest.raises(ConfigError, match=said):
        operate.steps(count)


def test_machines_start_once_their_disks_are_there(clone: Path) -> None:
    """All machines at once, after everything that they share."""
    steps = {step.name: step.after for step in operate.steps(2)}
    assert {name: steps[name] for name in ("vm-0", "vm-1")} == {"vm-0": ("disks",), "vm-1": ("disks",)}


def test_machines_are_known_without_their_processes(clone: Path) -> None:
    """After a crash they are shown as off, and come up again under the same ports."""
    have(clone, 22_000, 22_001)
    assert [(one.name, one.state, one.port) for one in operate.status()] == [
        ("vm-0", "off", 22_000),
        ("vm-1", "off", 22_001),
    ]


def test_a_folder_without_a_port_is_no_machine_yet(clone: Path) -> None:
    """A run that was cut off before that is done again from there."""
    (clone / ".lab/vm/vm-0").mkdir(parents=True)
    assert operate.machines() == []


def test_a_port_that_somebody_took_is_given_up(clone: Path) -> None:
    """Another program may have it after a restart."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        assert operate.free_port(taken) != taken
    assert operate.free_port(taken) == taken


@pytest.mark.parametrize("there", [True, False])
def test_down_leaves_nothing(clone: Path, *, there: bool) -> None:
    """Disks and keys go; it says whether there was anything."""
    have(clone, *([22_000] if there else []))
    assert operate.down() is there
    assert not operate.folder().exists()


def test_ssh_to_a_machine_that_is_not_there_names_those_that_are(clone: Path) -> None:
    """A wrong name is told before ssh is."""
    have(clone, 22_000)
    with pytest.raises(ConfigError, match="vm-0 is"):
        operate.ssh("vm-7", [])
    assert operate.ssh("vm-0", ["true"])[-2:] == ["vm-0", "true"]


def test_a_machine_that_ends_at_once_says_why(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last words of QEMU are in the error."""
    have(clone, 22_000)
    monkeypatch.setattr(process.machine, "command", lambda one, how: ["sh", "-c", "echo no such disk; exit 1"])
    with pytest.raises(CheckError, match="no such disk"):
        process.start(operate.machines()[0], "tcg")


@pytest.mark.parametrize(("works", "chosen"), [(True, "kvm"), (False, "tcg")])
def test_kvm_that_does_not_run_a_machine_is_not_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, works: bool, chosen: str
) -> None:
    """A device that may be opened is no proof: some guests offer it, and run nothing by it."""
    (tmp_path / "kvm").touch()
    monkeypatch.setattr(accelerator, "DEVICE", tmp_path / "kvm")
    monkeypatch.setattr(accelerator, "works", lambda name, cpu: works)
    assert accelerator.choose() == chosen
