"""The processes of the machines: found by a mark in their environment, which no crash of ours can lose."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress

import psutil

from infra.errors import CheckError
from lab import paths
from lab.cluster import marks
from lab.commands import tail
from lab.vm import machine
from lab.vm.machine import Machine

CLONE = "RAILWRIGHT_MACHINES_OF_LAB"
"""Variable that each machine of a clone carries; its value is the id of the clone's lab."""

NAME = "RAILWRIGHT_MACHINE"
"""Variable that names the machine, with the clone's id before it."""

END_SECONDS = 10.0
"""How long QEMU may take to end after SIGTERM (s); then it is killed."""


def running(one: Machine) -> list[int]:
    """Processes of a machine; one, unless somebody started it by hand as well."""
    return marks.processes(NAME, f"{one.lab_id}/{one.name}")


def running_all(lab_id: str) -> list[int]:
    """Processes of all machines of a clone, known by a file or not."""
    return marks.processes(CLONE, lab_id)


def start(one: Machine, accelerator: str) -> None:
    """Start a machine that is off; it lives on when we end.

    Raises:
        CheckError: QEMU refused at once.
    """
    log = one.folder / "qemu.log"
    environment = {
        "PATH": f"{paths.search_path()}:/usr/sbin:/sbin",
        CLONE: one.lab_id,
        NAME: f"{one.lab_id}/{one.name}",
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            machine.command(one, accelerator), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True, env=environment, cwd="/",
        )  # fmt: skip
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1.0)
        raise died(one)


def died(one: Machine) -> CheckError:
    """The error of a machine whose process ended by itself."""
    log = one.folder / "qemu.log"
    return CheckError(f"{one.name} — QEMU has ended by itself — it should run — read its last lines:\n{tail(log)}")


def end(lab_id: str) -> None:
    """Switch all machines of a clone off, as by their plug: their disks go anyway.

    Raises:
        CheckError: one is still there.
    """
    found = []
    for pid in running_all(lab_id):
        with suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(pid))
    for way in (psutil.Process.terminate, psutil.Process.kill):
        for process in found:
            with suppress(psutil.NoSuchProcess):
                way(process)
        _, found = psutil.wait_procs(found, timeout=END_SECONDS)
    if left := [*found, *running_all(lab_id)]:
        raise CheckError(f"machines — {len(left)} processes did not end — none may be left — see: lab vm status")


def memory_mib(pids: list[int]) -> int:
    """Memory that processes really take (MiB)."""
    total = 0
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            total += psutil.Process(pid).memory_info().rss
    return total // 2**20


def age_s(pids: list[int]) -> float:
    """How long the oldest has run (s); 0 without any."""
    born = []
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            born.append(psutil.Process(pid).create_time())
    return time.time() - min(born) if born else 0.0


def is_ours_to_start() -> bool:
    """Whether we may make images: mmdebstrap and chroot want root."""
    return os.geteuid() == 0
