"""The Debian folder that our images and the engine run on; made once per recipe by mmdebstrap."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from filelock import FileLock

from lab import paths
from lab.commands import run_logged
from lab.steps import Report

SUITE = "bookworm"
"""Debian 12, whose Python 3.11 the engine's wheels are locked for."""

PACKAGES = ("python3.11", "python3-minimal", "ca-certificates", "libstdc++6", "libgomp1", "libnuma1", "tini")
"""Beside Debian's essential packages: Python for engine and drain hook, the libraries torch and vLLM load, an init."""

LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
"""Text that nobody reads inside a container; copyright files stay."""

USER_ID = 10001
"""User and group ``railwright``, who runs every image but the pause program."""

MOUNT_POINTS = ("opt/engine", "opt/railwright", "models", "proc", "dev", "sys", "tmp")
"""Folders that a read-only root could not make when something is mounted there."""


def recipe() -> list[str]:
    """The mmdebstrap command without its target; the folder's key is the hash of it."""
    user = f"railwright:x:{USER_ID}:{USER_ID}::/tmp:/usr/sbin/nologin"
    folders = " ".join(f'"$1/{point}"' for point in MOUNT_POINTS)
    return [
        "mmdebstrap",
        "--variant=essential",
        "--format=directory",
        f"--include={','.join(PACKAGES)}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
        "--dpkgopt=path-include=/usr/share/doc/*/copyright",
        f'--customize-hook=echo "{user}" >> "$1/etc/passwd"; echo "railwright:x:{USER_ID}:" >> "$1/etc/group"',
        f"--customize-hook=mkdir -p {folders}",
        SUITE,
    ]


def folder() -> Path:
    """Where the folder of this recipe lies, made or not."""
    key = hashlib.sha256("\n".join(recipe()).encode()).hexdigest()[:12]
    return paths.cache_dir() / "rootfs" / f"{SUITE}-{key}"


def ensure(report: Report) -> Path:
    """Make the folder unless it is there; a cut-off run leaves nothing that a later one takes for whole.

    Raises:
        CheckError: mmdebstrap failed.
    """
    target = folder()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_suffix(".lock")):
        if target.exists():
            return target
        report("makes a Debian folder")
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        # Namespace of its own: mounts that mmdebstrap makes inside the folder end with it, whatever happens.
        private = ["unshare", "--mount", "--propagation", "private"]
        run_logged([*private, *recipe(), str(partial)], paths.state_dir() / "log" / "up" / "rootfs.log", report)
        partial.replace(target)
    return target
