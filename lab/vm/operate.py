"""Bring machines up, look at them, take them down; every step may be cut off anywhere and run again."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import psutil

from infra.errors import CheckError, ConfigError
from lab import packages, paths
from lab.cluster.lab import replace as write
from lab.commands import run_logged, tail
from lab.steps import Report, Step
from lab.vm import accelerator, access, image, outputs, process
from lab.vm.machine import DRIVE_MIB, MEMORY_MIB, MOST, Machine

BOOT_SECONDS = 600.0
"""How long a machine may take until ssh answers (s): 60 without KVM, and others may keep the processors busy."""

ASK_SECONDS = 10.0
"""How long one try to log in may take (s); a machine that just boots accepts, and says nothing."""


@dataclass(frozen=True)
class Shown:
    """One machine as ``lab vm status`` shows it."""

    name: str
    state: str
    """``up``: ssh answers; ``silent``: it runs, and ssh does not answer; ``off``: its process is gone."""
    port: int
    rails: str
    memory_mib: int
    """Memory that it takes of this machine's (MiB)."""
    age_s: float


def folder() -> Path:
    """Everything that this clone's machines have on this machine's disk, but the image."""
    return paths.state_dir() / "vm"


def machines() -> list[Machine]:
    """The machines that were made and not taken down, whether they run or not."""
    found = []
    for path in folder().glob("vm-*/port"):
        index = path.parent.name.removeprefix("vm-")
        found.append(_machine(int(index), int(path.read_text())))
    return sorted(found, key=lambda one: one.index)


def steps(count: int) -> list[Step]:
    """What brings so many machines up.

    Raises:
        ConfigError: a number that is not allowed, or more machines are there.
    """
    there = len(machines())
    if not 1 <= count <= MOST:
        raise ConfigError(f"machines — {count} are asked for — 1 to {MOST} are allowed — say another number")
    if there > count:
        raise ConfigError(
            f"machines — {there} are there, {count} are asked for — none is taken away — `lab vm down` first"
        )
    names = [f"vm-{index}" for index in range(count)]
    return [
        Step("preflight", partial(_check, count)),
        Step("packages", _install, lambda: not packages.absent(packages.MACHINES), after=("preflight",)),
        Step("image", _image, lambda: image.file().exists(), after=("packages",)),
        Step("disks", partial(_prepare, count), after=("image",)),
        *(Step(name, partial(_run, index), after=("disks",)) for index, name in enumerate(names)),
    ]


def status() -> list[Shown]:
    """Look at each machine."""
    return [_shown(one) for one in machines()]


def down() -> bool:
    """Switch all machines off and remove what is theirs; says whether there was anything."""
    was_there = folder().exists() or bool(process.running_all(paths.lab_id()))
    process.end(paths.lab_id())
    shutil.rmtree(folder(), ignore_errors=True)
    if folder().exists():
        raise CheckError(f"machines — {folder()} cannot be removed — nothing may be left — see who uses it")
    return was_there


def ssh(name: str, words: Sequence[str]) -> list[str]:
    """The command that logs in, or runs a command there.

    Raises:
        ConfigError: there is no such machine.
    """
    names = [one.name for one in machines()]
    if name not in names:
        raise ConfigError(
            f"machine {name!r} — is not there — {', '.join(names) or 'none'} is — name one of them, or `lab vm up N`"
        )
    return ["ssh", "-F", str(access.config_file(folder())), name, *words]


def _machine(index: int, port: int) -> Machine:
    return Machine(index, paths.lab_id(), folder(), image.file(), port)


def _check(count: int, report: Report) -> str:
    free = psutil.virtual_memory().available // 2**20
    needed = MEMORY_MIB * (count - sum(1 for one in machines() if process.running(one)))
    if free < needed:
        raise ConfigError(f"memory — {free} MiB are free — {needed} MiB are needed — ask for fewer machines")
    if not image.file().exists() and not process.is_ours_to_start():
        raise ConfigError("user — is not root — the image is made in a folder of root's — run `lab vm up` as root once")
    return f"{free} MiB memory are free"


def _install(report: Report) -> str:
    return packages.bring(report, lambda: packages.absent(packages.MACHINES))


def _image(report: Report) -> str:
    return f"at {image.ensure(report)}"


def _prepare(count: int, report: Report) -> str:
    """Have disks, keys and ports of all machines, and what clients read of them."""
    ports = {one.index: one.port for one in machines()}
    made = []
    for index in range(count):
        one = _machine(index, ports.get(index, 0))
        one.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not process.running(one):
            one = replace(one, port=free_port(one.port))
            _make_disks(one, report)
        write(one.folder / "port", f"{one.port}\n")
        made.append(one)
    access.write_clients(folder(), made)
    for one in made:
        access.write_seed(one)
    write(folder() / "outputs.json", outputs.text(folder(), paths.repo_root(), made), mode=0o644)
    return f"{count} machines"


def free_port(wanted: int) -> int:
    """The port that is wanted, or any other that is free."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", wanted))
        except OSError:
            one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _make_disks(one: Machine, report: Report) -> None:
    if not one.disk.exists():
        for old in one.folder.glob("*.qcow2*"):
            old.unlink()
        partial_disk = one.disk.with_suffix(".qcow2.partial")
        argv = ["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(one.image), str(partial_disk)]
        run_logged(argv, one.folder / "disk.log", report)
        partial_disk.replace(one.disk)
    for drive in one.drives:
        if not drive.exists():
            with drive.open("wb") as file:
                file.truncate(DRIVE_MIB * 2**20)


def _run(index: int, report: Report) -> str:
    one = machines()[index]
    if not process.running(one):
        report("starts")
        process.start(one, accelerator.choose())
    return _await(one, report)


def _await(one: Machine, report: Report) -> str:
    """Wait until a machine lets us in."""
    began = time.monotonic()
    while time.monotonic() < began + BOOT_SECONDS:
        if not process.running(one):
            raise process.died(one)
        if _answers(one):
            return f"ssh answers after {time.monotonic() - began:.0f} s"
        report(f"boots: {_last_line(one.console)}")
        time.sleep(1.0)
    raise CheckError(
        f"{one.name} — ssh has not answered in {BOOT_SECONDS:.0f} s — a minute is usual — read its last lines:\n"
        f"{tail(one.console)}\n  log: {one.console}"
    )


def _answers(one: Machine) -> bool:
    try:
        argv = ["ssh", "-F", str(access.config_file(one.root)), "-o", "ConnectTimeout=5", one.name, "true"]
        return subprocess.run(argv, capture_output=True, check=False, timeout=ASK_SECONDS).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    return next((line.strip()[:60] for line in reversed(lines) if line.strip()), "nothing said yet")


def _shown(one: Machine) -> Shown:
    pids = process.running(one)
    state = "off" if not pids else "up" if _answers(one) else "silent"
    rails = ", ".join(one.address(f"rail{number}") for number in range(2))
    return Shown(one.name, state, one.port, rails, process.memory_mib(pids), process.age_s(pids))


def as_json(shown: Sequence[Shown]) -> str:
    """All of it, for programs."""
    return json.dumps([asdict(one) for one in shown], indent=2)


def as_lines(shown: Sequence[Shown]) -> Iterator[str]:
    """A line for each machine."""
    yield f"{'MACHINE':<9}{'STATE':<8}{'SSH PORT':>8}{'MEMORY':>10}{'AGE':>8}  RAILS"
    for one in shown:
        yield f"{one.name:<9}{one.state:<8}{one.port:>8}{one.memory_mib:>6} MiB{one.age_s:>6.0f} s  {one.rails}"
