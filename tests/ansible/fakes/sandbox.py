"""A machine that roles can be run on: this one, seen through an overlay, in namespaces of its own.

Everything that is written lands in a folder of the test. There is no /sys but a folder, of /proc only the network may
be changed, loading modules and rebooting are out of reach, and vendors' programs are the stand-ins of ``bin/``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

REPO = Path(__file__).resolve().parents[3]
FAKES = Path(__file__).parent
STATE = "var/lib/fakes"
"""Where stand-ins keep what they were told, below the machine's root."""
DROPPED = "-sys_module,-sys_boot,-sys_time,-sys_rawio"
"""What nobody on the machine may do, root or not."""

MOST_CHANGES = 40
"""More than any role makes on one host."""

BOOT = """
set -eu
root=$1 work=$2; shift 2
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/scratch" "$root"
for outside in $RAILWRIGHT_OUTSIDE; do mount --rbind "$outside" "$root$outside"; done
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys" && mount -o remount,bind,ro "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net" && mount -o remount,bind,rw "$root/proc/sys/net"
mount --bind "$root/var/lib/fakes/proc/driver" "$root/proc/driver"
mount -t tmpfs tmpfs "$root/dev" && mkdir "$root/dev/shm" "$root/dev/pts"
for device in null:3 zero:5 full:7 random:8 urandom:9; do mknod -m 666 "$root/dev/${device%:*}" c 1 "${device#*:}"; done
ln -s /proc/self/fd "$root/dev/fd"
ip link set lo up
. "$root/var/lib/fakes/network"
exec setpriv --inh-caps="$RAILWRIGHT_DROPPED" --bounding-set="$RAILWRIGHT_DROPPED" chroot "$root" "$@"
"""
"""Runs first in the namespaces; what follows its two folders is run on the machine."""


@dataclass(frozen=True)
class Event:
    """What one task did, or one item of its loop."""

    task: str
    item: str
    outcome: str
    message: str
    said: str


@dataclass(frozen=True)
class Run:
    """One run of a playbook."""

    status: int
    events: tuple[Event, ...]
    log: str

    @property
    def changed(self) -> list[str]:
        """What was changed, or would be, in order."""
        return [f"{event.task} {event.item}".strip() for event in self.events if event.outcome == "changed"]

    @property
    def failure(self) -> str:
        """Task that failed, and why; empty when none did."""
        return next((f"{one.task}: {one.message} {one.said}" for one in self.events if one.outcome == "failed"), "")


@dataclass
class Sandbox:
    """One machine; it forgets processes and network between two runs, as it would at a reboot, but no file."""

    folder: Path
    network: str = ""
    """Shell commands that make its network interfaces."""
    variables: dict[str, Any] = field(default_factory=dict)
    is_killed: bool = False
    """Whether a play ends, as by a kill, once it has changed something."""

    def __post_init__(self) -> None:
        for name in ("root", "upper", "scratch"):
            (self.folder / name).mkdir(parents=True)
        self.write(f"{STATE}/network", self.network)
        (self.path(STATE) / "proc/driver").mkdir(parents=True)
        for program in (FAKES / "bin").iterdir():
            self.write(f"usr/local/bin/{program.name}", program.read_text(encoding="utf-8"), mode=0o755)

    def path(self, name: str) -> Path:
        """Where a file of the machine is, if it was ever written."""
        return self.folder / "upper" / name.lstrip("/")

    def write(self, name: str, text: str, *, mode: int = 0o644) -> None:
        """Give the machine a file, before or between runs."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)

    def read(self, name: str) -> str:
        """A file of the machine; empty when nobody wrote it."""
        path = self.path(name)
        return path.read_text(encoding="utf-8") if path.is_file() else ""

    def calls(self, program: str) -> list[str]:
        """Command lines that a stand-in was called with and that change something."""
        return [line for line in self.read(f"{STATE}/calls").splitlines() if line.split()[0] == program]

    def run(
        self, argv: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the machine."""
        root, device = self.folder / "root", Path("/").stat().st_dev
        outside = [path for path in (str(REPO), sys.prefix, sys.base_prefix) if Path(path).stat().st_dev != device]
        return subprocess.run(
            ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c", BOOT, "boot",
             str(root), str(self.folder), *argv],
            capture_output=True, text=True, check=False,
            env={
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
                "LC_ALL": "C.UTF-8", "RAILWRIGHT_OUTSIDE": " ".join(dict.fromkeys(outside)),
                "RAILWRIGHT_DROPPED": DROPPED, **(environment or {}),
            },
        )  # fmt: skip

    def play(self, role: str, *options: str, **variables: Any) -> Run:
        """Run one role, with the machine's variables and these."""
        play = {
            "name": role, "hosts": "all", "gather_facts": True, "gather_subset": ["!all", "min", "distribution"],
            "vars": {"ansible_python_interpreter": "/usr/bin/python3", **self.variables, **variables},
            "roles": [role],
        }  # fmt: skip
        self.write(f"{STATE}/play.yml", yaml.safe_dump([play], sort_keys=False))
        self.path(f"{STATE}/events").unlink(missing_ok=True)
        done = self.run(
            [f"{sys.prefix}/bin/ansible-playbook", "--connection=local", "--inventory=host-1,", *options,
             f"/{STATE}/play.yml"],
            {
                "ANSIBLE_ROLES_PATH": str(REPO / "ansible/roles"), "ANSIBLE_CALLBACKS_ENABLED": "events",
                "ANSIBLE_CALLBACK_PLUGINS": str(FAKES / "callback"), "RAILWRIGHT_EVENTS": f"/{STATE}/events",
                "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": f"/{STATE}/ansible",
                "ANSIBLE_CONFIG": str(REPO / "ansible/ansible.cfg"),
                "RAILWRIGHT_ENDS": "after a change" if self.is_killed else "",
            },
        )  # fmt: skip
        rows = [json.loads(line) for line in self.read(f"{STATE}/events").splitlines()]
        return Run(done.returncode, tuple(Event(**row) for row in rows), done.stdout + done.stderr)

    def play_killed(self, role: str, **variables: Any) -> list[Run]:
        """Run one role that is killed after its first change, again and again, until a run has nothing to change."""
        self.is_killed = True
        runs = [self.play(role, **variables)]
        while runs[-1].changed != [] and len(runs) < MOST_CHANGES:
            runs.append(self.play(role, **variables))
        self.is_killed = False
        return runs


def is_possible() -> bool:
    """Whether this machine lets us make one: root, and mounts of its own."""
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0
