"""Take the lab down, in order, and look afterwards that nothing of it is left."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace as changed
from pathlib import Path

from infra.errors import CheckError
from lab import paths
from lab.cluster import cgroups, leftovers, marks, namespace, registry, watch
from lab.cluster.hosts import HOSTS, PROGRAMS, Host
from lab.cluster.lab import Lab, remembered, this_clone
from lab.cluster.registry import Record
from lab.cluster.supervision import Supervisor
from lab.commands import end_orphans

Report = Callable[[str], None]
"""Told what is being done: one short line, replaced by the next."""

CONTAINER_SECONDS = 10.0
"""How long containers may take to end after SIGTERM (s), Docker's default; then they end with the namespace."""

GONE_SECONDS = 20.0
"""How long the kernel and the watchers may take until nothing is left to see (s)."""

STATE = (
    *("pki", "config", "etcd", "node-log", "run", "kubeconfig", "ssh_config", "secrets/ssh", "lab.json"),
    *(host.part(program) for host in HOSTS for program in PROGRAMS),
)
"""What a purge removes below the state folder, beside the parts' logs; tools and images are others' to remove."""


def stop(report: Report, *, purge: bool = False) -> bool:
    """End the lab of this clone; other labs are not touched.

    Args:
        report: told each step.
        purge: remove its state too.
    Returns:
        Whether anything of it was there.
    Raises:
        CheckError: something is left.
    """
    lab_id, network = paths.lab_id(), remembered(paths.state_dir())
    was_there = registry.read(lab_id) is not None or bool(remains(lab_id))
    # First, while Pulumi can still reach the cluster and write down what it did.
    end_orphans(report)
    with watch.held(paths.state_dir() / "run/start.lock"):
        record = registry.read(lab_id)
        if record:
            registry.write(changed(record, wanted="down"))
        if record and record.is_alive and network:
            end(this_clone(network), record, report)
        elif record and record.is_alive:
            namespace.end(record, signal.SIGKILL)
        if was_there:
            report("removing cgroups and entries")
        leftovers.clean(own=lab_id)
        registry.remove(lab_id)
    await_nothing(lab_id, report)
    if purge:
        report("removing state")
        remove_state(paths.state_dir())
    return was_there


def end(lab: Lab, record: Record, report: Report) -> None:
    """End pods, then parts, then the first process and with it whatever is still there."""
    supervisor = Supervisor(lab)
    if supervisor.is_answering():
        if lab.hosts:
            report("ending pods")
        for host in lab.hosts:
            # First, else it would start again what ends next.
            supervisor.stop(host.part("kubelet"))
        end_containers(lab, record)
        report("ending parts")
        namespace.end(record)
    namespace.end(record, signal.SIGKILL)


def end_containers(lab: Lab, record: Record) -> None:
    """Ask every container of every host to end, and wait a while."""
    deadline = time.monotonic() + CONTAINER_SECONDS
    asked: set[str] = set()
    while (running := _running(lab, record)) and time.monotonic() < deadline:
        for name in running.keys() - asked:
            subprocess.run([*running[name], "kill", "--signal=SIGTERM", name], capture_output=True, check=False)
        asked |= running.keys()
        time.sleep(0.5)


def _running(lab: Lab, record: Record) -> dict[str, list[str]]:
    """Running containers, with the command that reaches the runtime of each."""
    clients = [client(lab, record, host) for host in lab.hosts]
    return {name: ctr for ctr in clients for name in _names(ctr)}


def client(lab: Lab, record: Record, host: Host) -> list[str]:
    """The command that speaks to a host's containers."""
    address = f"--address={host.containerd_socket}"
    return [*namespace.prefix(record), lab.tool("ctr"), address, "--namespace=k8s.io", "tasks"]


def _names(ctr: list[str]) -> set[str]:
    listed = subprocess.run([*ctr, "list"], capture_output=True, text=True, check=False).stdout.splitlines()
    return {line.split()[0] for line in listed[1:] if line.split()[-1:] == ["RUNNING"]}


def await_nothing(lab_id: str, report: Report) -> None:
    """Look until nothing of the lab is left.

    Raises:
        CheckError: something is still there.
    """
    deadline = time.monotonic() + GONE_SECONDS
    while left := remains(lab_id):
        report(f"waiting for {left[0]}")
        if time.monotonic() > deadline:
            raise CheckError(
                f"lab {lab_id} — left {', '.join(left)} behind — nothing may be left — "
                "end what uses it and run `lab down` again"
            )
        time.sleep(0.2)


def remains(lab_id: str) -> list[str]:
    """Everything of a lab that is still on the machine, in words."""
    state, name = paths.state_dir(), f"railwright-{lab_id}"
    found = [f"process {pid}" for mark in (marks.PART, marks.PROGRAM) for pid in marks.processes(mark, lab_id)]
    found += [f"cgroup {name}"] if name in cgroups.names() else []
    found += [f"interface rw-{lab_id}"] if Path(f"/sys/class/net/rw-{lab_id}").exists() else []
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    found += [f"mount {mount}" for mount in mounts if Path(mount).is_relative_to(state)]
    found += [f"watcher {pid}" for pid in watch.pids(lab_id)]
    return found


def remove_state(state: Path) -> None:
    """Remove what the cluster wrote below the state folder."""
    for name in STATE:
        path = state / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for log in (state / "log").glob("*.log*"):
        log.unlink()
