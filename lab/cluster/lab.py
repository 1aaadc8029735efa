"""What one lab is: its name, kind, addresses and folders; everything else is computed from it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lab import paths
from lab.cluster.hosts import HOSTS, Host
from lab.cluster.network import Network, Ports

PYTHON = str(Path(sys.executable).with_name("python3"))
"""The interpreter of this environment under one name, whichever of its links was called."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where the lab's processes find mount, nft and the like; the caller's own PATH plays no role."""


@dataclass(frozen=True)
class Lab:
    """One lab.

    Args:
        lab_id: eight hex digits, from the clone's path.
        clone: folder of the clone that owns it.
        state: folder of all that it writes.
        tools: folder of the programs it runs.
        network: its addresses.
        python: interpreter of the parts that are ours.
    """

    lab_id: str
    clone: Path
    state: Path
    tools: Path
    network: Network
    python: str = PYTHON

    @property
    def simulated(self) -> bool:
        """True when it has simulated hosts only, and no node of its own."""
        return self.network.simulated

    @property
    def hosts(self) -> tuple[Host, ...]:
        """Its real hosts."""
        return () if self.simulated else HOSTS

    @property
    def name(self) -> str:
        """Name of its cgroup; leftovers are known by it."""
        return f"railwright-{self.lab_id}"

    @property
    def link(self) -> str:
        """Name of the machine's end of its link (at most 15 characters, the kernel's limit)."""
        return f"rw-{self.lab_id}"

    @property
    def pki(self) -> Path:
        """Folder of keys and certificates."""
        return self.state / "pki"

    @property
    def config(self) -> Path:
        """Folder of rendered configuration."""
        return self.state / "config"

    @property
    def logs(self) -> Path:
        """Folder of the parts' logs."""
        return self.state / "log"

    @property
    def run(self) -> Path:
        """Folder of sockets and locks."""
        return self.state / "run"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's way in."""
        return self.state / "kubeconfig"

    @property
    def control_socket(self) -> Path:
        """Where supervisord takes orders."""
        return self.run / "supervisor.sock"

    def tool(self, name: str) -> str:
        """Path of one pinned program."""
        return str(self.tools / name)


def this_clone(network: Network) -> Lab:
    """The lab of the clone that this code was loaded from."""
    return Lab(paths.lab_id(), paths.repo_root(), paths.state_dir(), paths.bin_dir(), network)


def remembered(state: Path) -> Network | None:
    """The network of the last start; None before the first, or when the note cannot be read."""
    try:
        note: dict[str, Any] = json.loads((state / "lab.json").read_text())
        return Network(note["octet"], note["simulated"], Ports(**note["ports"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(lab: Lab) -> None:
    """Keep the network for the next start, so that addresses and certificates stay."""
    network = lab.network
    note = {"octet": network.octet, "simulated": network.simulated, "ports": asdict(network.ports)}
    replace(lab.state / "lab.json", json.dumps(note, indent=2) + "\n")


def replace(path: Path, text: str, mode: int = 0o600) -> bool:
    """Write a file so that no reader ever sees half of it; False when it said the same already."""
    if path.is_file() and path.read_text() == text and path.stat().st_mode & 0o777 == mode:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.touch(mode=mode)
    draft.chmod(mode)
    draft.write_text(text)
    draft.replace(path)
    return True
