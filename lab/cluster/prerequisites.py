"""What the machine must offer before anything starts; everything missing is told at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from lab.cluster import cgroups
from lab.cluster.lab import SYSTEM_PATH, Lab
from lab.cluster.parts import parts
from lab.cluster.supervision import SOCKET_PATH_MAX

SYSTEM_PROGRAMS = {
    "ip": "iproute2",
    "mount": "mount",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "nft": "nftables",
    "dropbear": "dropbear-bin",
    "dropbearkey": "dropbear-bin",
}
"""Programs that a full lab runs and the Debian packages that bring them."""

NODE_TOOLS = ("containerd-shim-runc-v2", "runc", "ctr", "ptp", "host-local", "loopback", "portmap")
"""Programs that the node's parts run themselves."""


def problems(lab: Lab) -> list[str]:
    """One sentence for each thing that is missing; empty when the lab can start."""
    found = [*_missing_tools(lab), *_long_path(lab)]
    return found if lab.simulated else [*_node_problems(), *found]


def _node_problems() -> Iterator[str]:
    """What keeps a kubelet from running here."""
    if os.geteuid() != 0:
        yield (
            f"lab — found user id {os.geteuid()} — a real node needs root (0) for namespaces and containers — "
            "run as root, or `lab up --simulated` for the control plane and simulated hosts only"
        )
    if missing := cgroups.missing():
        yield (
            f"lab — found no cgroup controller {', '.join(sorted(missing))} — a kubelet needs all of "
            f"{', '.join(sorted(cgroups.NEEDED))} — mount them, or `lab up --simulated`"
        )
    for program, package in SYSTEM_PROGRAMS.items():
        if not shutil.which(program, path=SYSTEM_PATH):
            yield (
                f"lab — found no program {program!r} in {SYSTEM_PATH} — a real node runs it — apt-get install {package}"
            )


def _missing_tools(lab: Lab) -> Iterator[str]:
    wanted = [path for part in parts(lab) if part.version and Path(path := part.version[0]).parent == lab.tools]
    wanted.append(lab.tool("kubectl"))
    if not lab.simulated:
        wanted += [lab.tool(name) for name in NODE_TOOLS]
    for path in wanted:
        if not os.access(path, os.X_OK):
            yield f"lab — found no program at {path} — it is one of the pinned tools — run `lab up`, which builds it"
    if not list((lab.tools / "kwok-stages").glob("*.yaml")):
        yield f"lab — found no stages in {lab.tools / 'kwok-stages'} — KWOK moves hosts by them — run `lab up`"


def _long_path(lab: Lab) -> Iterator[str]:
    length = len(str(lab.control_socket).encode())
    if length > SOCKET_PATH_MAX:
        yield (
            f"lab — found {length} bytes in the socket path {lab.control_socket} — the kernel allows "
            f"{SOCKET_PATH_MAX} here — clone into a shorter path"
        )
