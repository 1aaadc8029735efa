"""Run a program inside the Debian folder, with mounts that vanish with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.commands import run_logged
from lab.steps import Report

PROGRAM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH inside the images and the folder."""

ENTER = """\
set -e
root=$1; shift
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
shift
exec chroot "$root" "$@"
"""
"""Shell program: the folder, pairs of source and target to mount, ``--``, the command."""


@dataclass(frozen=True)
class Mount:
    """A folder of the machine, seen at a path inside."""

    source: Path
    target: str


def run_inside(
    root: Path, mounts: Sequence[Mount], argv: Sequence[str], env: Mapping[str, str], log: Path, report: Report
) -> None:
    """Run a program inside the folder, as root, to its end; nothing of this process's environment is passed on.

    Raises:
        CheckError: it ended with another code than 0.
    """
    pairs = [part for mount in mounts for part in (str(mount.source), mount.target)]
    enter = ["unshare", "--mount", "--propagation", "private", "sh", "-c", ENTER, "enter", str(root), *pairs, "--"]
    clean = ["/usr/bin/env", "-i", f"PATH={PROGRAM_PATH}", *(f"{name}={value}" for name, value in env.items())]
    run_logged([*enter, *clean, *argv], log, report, env={"PATH": f"{paths.search_path()}:{PROGRAM_PATH}"})
