"""First process of a lab: make the namespaces fit for a node, then become supervisord.

Runs as ``python -m lab.cluster.init`` under ``unshare``; it prints the lab's first pid as the machine counts.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from infra.errors import CheckError
from lab import paths
from lab.cluster.lab import NODE, Lab, remembered, this_clone
from lab.cluster.supervision import environment

LINK_SECONDS = 30.0
"""How long to wait for the starter to bring the link (s); a starter that died must not leave a lab behind."""

CNI_CACHE = "/var/lib/cni"
"""Where libcni keeps results; the path is compiled in, so the lab puts a folder of its own over it."""

KERNEL_SETTINGS: Mapping[str, str] = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
"""What a kubelet insists on. These are the whole machine's, so the lab shows it these values and changes none.

Source: kubelet, ``setupKernelTunables``.
"""


def main() -> None:
    """Fork into the new PID namespace, and set it up there."""
    network = remembered(paths.state_dir())
    if network is None:
        raise CheckError("lab — its note lab.json is missing — the starter writes it first — run `lab up`")
    lab = this_clone(network)
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        return
    log = os.open(lab.logs / "init.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(log, sys.stdout.fileno())
    os.dup2(log, sys.stderr.fileno())
    prepare(lab)
    arguments = [lab.python, "-m", "supervisor.supervisord", "--configuration", str(lab.config / "supervisord.conf")]
    os.chdir(lab.state)
    os.execve(lab.python, arguments, environment(lab))  # noqa: S606 - no shell is the point


def prepare(lab: Lab) -> None:
    """Mounts, kernel settings, name and addresses of the lab's own namespaces."""
    await_link(lab.network.node_ip)
    socket.sethostname(NODE)
    # Without this, mounts that the kubelet makes for a container would not reach it.
    run("mount", "--make-rshared", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    run("mount", "-t", "tmpfs", "-o", "mode=0755", "railwright", "/run")
    run("mount", "-t", "tmpfs", "-o", "mode=0755", "railwright", CNI_CACHE)
    node_logs = lab.state / "node-log"
    node_logs.mkdir(exist_ok=True)
    run("mount", "--bind", str(node_logs), "/var/log")
    show_kernel_settings()
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")


def await_link(address: str) -> None:
    """Wait until the starter has put our end of the link into this namespace, and given it its address."""
    deadline = time.monotonic() + LINK_SECONDS
    while not has_address(address):
        if time.monotonic() > deadline:
            raise CheckError(
                f"lab — its link did not come within {LINK_SECONDS:.0f} s — the starter died — run `lab up`"
            )
        time.sleep(0.05)


def has_address(address: str) -> bool:
    """True when this network namespace has the address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
    return True


def show_kernel_settings() -> None:
    """Lay files with the wanted values over the kernel's, in this mount namespace only."""
    folder = Path("/run/kernel-settings")
    folder.mkdir()
    for name, value in KERNEL_SETTINGS.items():
        cover = folder / name.replace("/", ".")
        cover.write_text(f"{value}\n")
        if Path("/proc/sys", name).exists():
            run("mount", "--bind", str(cover), f"/proc/sys/{name}")


def run(*argv: str) -> None:
    """Run a program that must succeed; its complaint goes to the log."""
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
