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
from lab.cluster import ssh
from lab.cluster.hosts import FIRST, HOSTS
from lab.cluster.lab import Lab, remembered, this_clone
from lab.cluster.network import LINK_END, Network
from lab.cluster.supervision import environment

LINK_SECONDS = 30.0
"""How long to wait for the starter to bring the link (s); a starter that died must not leave a lab behind."""

COVERED = ("/var/lib/cni", "/var/lib/kubelet")
"""Where libcni keeps results and the kubelet device plugins; the paths are compiled in, so that the lab puts folders
of its own over them."""

HOME = Path("/run/root")
"""Root's home as the lab shows it."""

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
    for host in HOSTS:
        await_link(lab.network.address_of(host))
    socket.sethostname(FIRST.name)
    # Without this, mounts that the kubelet makes for a container would not reach it.
    run("mount", "--make-rshared", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    run("mount", "-t", "tmpfs", "-o", "mode=0755", "railwright", "/run")
    for folder in COVERED:
        run("mount", "-t", "tmpfs", "-o", "mode=0755", "railwright", folder)
    node_logs = lab.state / "node-log"
    node_logs.mkdir(exist_ok=True)
    run("mount", "--bind", str(node_logs), "/var/log")
    show_kernel_settings()
    show_account(lab)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    run("nft", masquerades(lab.network))


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


def masquerades(network: Network) -> str:
    """Rules by which pods get answers from where nothing knows their addresses: from themselves through their own
    Service, which kube-proxy sees to on one host only, and from beyond the link, where the machine has a route to the
    hosts alone."""
    ranges = [network.pods_of(host) for host in HOSTS if host != FIRST]
    rules = [f"ct status dnat ip saddr {pods} ip daddr {pods} masquerade" for pods in ranges]
    rules.append(f'ip saddr {network.pods} oifname "{LINK_END}" masquerade')
    chain = "; ".join(["type nat hook postrouting priority srcnat", *rules])
    return f"table ip railwright {{ chain masquerades {{ {chain}; }}; }}"


def show_account(lab: Lab) -> None:
    """Show a home of the lab's own as root's, where sshd finds who may come in, and which goes with the lab."""
    HOME.mkdir(mode=0o700)
    (HOME / ".ssh").symlink_to(lab.config / ssh.ACCESS)
    cover = Path("/run/passwd")
    cover.write_text(with_home(Path("/etc/passwd").read_text(), str(HOME)))
    run("mount", "--bind", str(cover), "/etc/passwd")


def with_home(accounts: str, home: str) -> str:
    """The text of a passwd file in which root has another home."""
    lines = [line.split(":") for line in accounts.splitlines()]
    return "".join(":".join([*line[:5], home, *line[6:]] if line[0] == "root" else line) + "\n" for line in lines)


def run(*argv: str) -> None:
    """Run a program that must succeed; its complaint goes to the log."""
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
