"""The lab's namespaces as the machine sees them: begin them, link them, enter them, end them."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from pathlib import Path

from infra.errors import CheckError
from lab.cluster import cgroups, registry
from lab.cluster.hosts import HOSTS
from lab.cluster.init import COVERED
from lab.cluster.lab import Lab
from lab.cluster.network import LINK_BITS, LINK_END
from lab.cluster.registry import Record
from lab.cluster.supervision import environment

END_SECONDS = 60.0
"""How long supervisord may take to end all parts (s); etcd and the API server have 15 s each."""


def begin(lab: Lab) -> Record:
    """Start the lab's first process; it goes on by itself once it has its link."""
    flags = ("--mount", "--propagation=private", "--net", "--pid", "--uts", "--ipc")
    argv = ["unshare", *flags, lab.python, "-m", "lab.cluster.init"]
    folders = _make_mount_points()
    out = lab.logs / "init.log"
    with out.open("w") as log:
        first = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            check=False,
            env=environment(lab),
            start_new_session=True,
            cwd=lab.clone,
        )
    if first.returncode or not first.stdout.strip().isdigit():
        raise CheckError(
            f"lab {lab.lab_id} — its namespaces could not be made (code {first.returncode}) — 0 was expected — "
            f"read {out}: {out.read_text().strip()[-300:]}"
        )
    record = enter_in_registry(lab, int(first.stdout), folders)
    cgroups.enter(lab.name, record.pid, [host.name for host in HOSTS])
    connect(lab, record.pid)
    return record


def begin_simulated(lab: Lab) -> Record:
    """Start supervisord as it is, for a lab without namespaces."""
    conf = str(lab.config / "supervisord.conf")
    with (lab.logs / "init.log").open("w") as log:
        process = subprocess.Popen(
            [lab.python, "-m", "supervisor.supervisord", "--configuration", conf],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(lab),
            start_new_session=True,
            cwd=lab.state,
        )
    return enter_in_registry(lab, process.pid, ())


def enter_in_registry(lab: Lab, pid: int, folders: tuple[str, ...]) -> Record:
    """Note a new lab before anything else of it exists, so that a start cut off here leaves a trace."""
    record = Record(
        lab.lab_id, str(lab.clone), pid, registry.birth(pid), lab.network.octet, lab.simulated, "up", folders
    )
    registry.write(record)
    return record


def _make_mount_points() -> tuple[str, ...]:
    """Folders that a mount needs and the machine lacks; they are removed with the lab."""
    missing = tuple(folder for folder in COVERED if not Path(folder).is_dir())
    for folder in missing:
        Path(folder).mkdir(mode=0o755)
    return missing


def connect(lab: Lab, pid: int) -> None:
    """Make the link, one end here and one in the lab; the kernel removes it with the lab."""
    disconnect(lab.link)
    ip("link", "add", lab.link, "type", "veth", "peer", "name", LINK_END, "netns", str(pid))
    inside = ("nsenter", f"--target={pid}", "--net", "ip")
    run(*inside, "link", "set", "lo", "up")
    run(*inside, "link", "set", LINK_END, "up")
    for host in HOSTS:
        run(*inside, "address", "add", f"{lab.network.address_of(host)}/{LINK_BITS}", "dev", LINK_END)
    ip("address", "add", f"{lab.network.host_ip}/{LINK_BITS}", "dev", lab.link)
    ip("link", "set", lab.link, "up")


def disconnect(link: str) -> None:
    """Remove a link by name, if it is there."""
    try:
        if is_linked(link):
            ip("link", "delete", link)
    except CheckError:
        # The kernel removes it by itself when the lab's namespace ends, and may have been quicker.
        if is_linked(link):
            raise


def ip(*arguments: str) -> str:
    """Run iproute2's ip, and give back what it prints."""
    return run("ip", *arguments)


def run(*argv: str) -> str:
    """Run a program that sets a link up, and give back what it prints."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CheckError(
            f"{' '.join(argv)} — failed with {done.stderr.strip()!r} — it must work for a lab's link — "
            "check that you are root and that the kernel has veth"
        )
    return done.stdout


def is_linked(link: str) -> bool:
    """True while the machine's end of a link is there."""
    return Path("/sys/class/net", link).exists()


def networks_in_use(but_not: str) -> list[str]:
    """Networks and addresses that something on this machine routes to or asks, except over one link."""
    routes = json.loads(ip("-json", "-4", "route", "show", "table", "all") or "[]")
    found = [route["dst"] for route in routes if route.get("dev") != but_not and route.get("dst") != "default"]
    resolv = Path("/etc/resolv.conf")
    lines = resolv.read_text().splitlines() if resolv.exists() else []
    servers = [line.split()[1] for line in lines if line.startswith("nameserver") and len(line.split()) > 1]
    return found + [server for server in servers if ":" not in server]


def prefix(record: Record) -> list[str]:
    """Words that make a command run inside the lab."""
    if record.simulated:
        return []
    return ["nsenter", f"--target={record.pid}", "--mount", "--net", "--pid", "--uts", "--ipc", "--"]


def end(record: Record, sig: signal.Signals = signal.SIGTERM, seconds: float = END_SECONDS) -> bool:
    """Signal the lab's first process and wait; True when it has ended, and with it every process inside."""
    if not record.is_alive:
        return True
    try:
        handle = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return True
    try:
        signal.pidfd_send_signal(handle, sig)
        ready, _, _ = select.select([handle], [], [], seconds)
    finally:
        os.close(handle)
    return bool(ready)
