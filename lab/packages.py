"""The system packages that the lab's parts need: which are missing, and installing them on Debian and Ubuntu."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.errors import CheckError
from lab import paths
from lab.commands import run_logged
from lab.steps import Report
from lab.toolchain import TOOLS, debian_packages

SYSTEM_FOLDERS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs of packages lie; a user's PATH often leaves the ``sbin`` folders out."""

WAIT = ("-o", "DPkg::Lock::Timeout=300")
"""Waits for another apt, such as a machine's first update, for five minutes."""


@dataclass(frozen=True)
class Package:
    """One Debian package.

    Args:
        name: as Debian and Ubuntu call it.
        proof: a program it brings, or a path (glob from /) that shows it is there.
        use: what would not work without it.
        full: whether only a lab with a real node needs it.
        build: whether only a tool that is still to be built needs it.
    """

    name: str
    proof: str
    use: str
    full: bool = True
    build: bool = False

    def is_there(self) -> bool:
        """Whether the proof is found, from whichever package it came."""
        if "/" in self.proof:
            return any(Path("/").glob(self.proof))
        return shutil.which(self.proof, path=f"{paths.search_path()}:{SYSTEM_FOLDERS}") is not None


MMDEBSTRAP = Package("mmdebstrap", "mmdebstrap", "the Debian folders of images and machines")

PACKAGES = (
    Package("ca-certificates", "etc/ssl/certs/ca-certificates.crt", "downloads over TLS", full=False),
    Package("util-linux", "nsenter", "the lab's own namespaces"),
    Package("mount", "mount", "the lab's own mounts"),
    Package("iproute2", "ip", "the link between machine and lab"),
    Package("nftables", "nft", "kube-proxy's and portmap's rules, inside the lab"),
    Package("dropbear-bin", "dropbear", "the way into the lab's hosts"),
    MMDEBSTRAP,
    Package("gcc", "gcc", "building runc", build=True),
    Package("libc6-dev", "usr/include/stdio.h", "building runc", build=True),
    Package("libseccomp-dev", "usr/include/seccomp.h", "building runc", build=True),
    Package("pkg-config", "pkg-config", "building runc", build=True),
)
"""All of the cluster's. Each is there because one part fails without it; nothing is installed for convenience."""

MACHINES = (
    Package("qemu-system-x86", "qemu-system-x86_64", "running machines"),
    Package("qemu-utils", "qemu-img", "the disks of machines"),
    Package("e2fsprogs", "mke2fs", "the image that machines start from"),
    Package("openssh-client", "ssh", "the way into machines"),
    MMDEBSTRAP,
)
"""Those of `lab vm`."""


def absent(wanted: Sequence[Package]) -> list[Package]:
    """Those of some packages that are not there."""
    return [package for package in wanted if not package.is_there()]


def missing(*, simulated: bool) -> list[Package]:
    """The packages that the cluster needs and that are not there."""
    building = () if simulated else debian_packages(TOOLS)
    always = [package for package in PACKAGES if not package.build and not (simulated and package.full)]
    needed = always + [package for package in PACKAGES if package.build and package.name in building]
    return absent(needed)


def has_apt() -> bool:
    """Whether this is a Debian or Ubuntu with its package tools."""
    return all(shutil.which(name, path=SYSTEM_FOLDERS) for name in ("apt-get", "dpkg"))


def command(names: Sequence[str]) -> list[str]:
    """The command that installs packages, and nothing that is only recommended."""
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", *WAIT]
    return [*quiet, "install", "--yes", "--no-install-recommends", *names]


def install(report: Report, *, simulated: bool, run: Callable[..., None] = run_logged) -> str:
    """Install what the cluster misses, and say which."""
    return bring(report, lambda: missing(simulated=simulated), run)


def bring(report: Report, lacking: Callable[[], list[Package]], run: Callable[..., None] = run_logged) -> str:
    """Install what is missing, and say which.

    Args:
        lacking: looks for what is missing; asked before and after.
    Raises:
        CheckError: apt failed, or a package is there and its proof is not.
    """
    names = [package.name for package in lacking()]
    if not names:
        return "none is missing"
    report(f"installs {' '.join(names)}")
    logs = paths.state_dir() / "log" / "up"
    try:
        run(command(names), logs / "apt-install.log", report)
    except CheckError:
        # Package lists that are absent, or older than the mirror: the usual reason, and cheap to rule out.
        run(["apt-get", "update", *WAIT], logs / "apt-update.log", report)
        run(command(names), logs / "apt-install.log", report)
    if left := lacking():
        proofs = ", ".join(f"{package.proof} of {package.name}" for package in left)
        raise CheckError(f"packages — {proofs} is absent after the install — all are needed — reinstall the package")
    return f"installed {' '.join(names)}"
