"""Sources of packages for the sandbox: real .deb files with next to nothing in them, for the real apt and dpkg."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.ansible.fakes.sandbox import Sandbox


@dataclass(frozen=True)
class Package:
    """One package that brings at most a service and empty programs."""

    name: str
    version: str
    depends: str = ""
    service: str = ""
    programs: tuple[str, ...] = ()
    starts: bool = False
    """Whether its service is started when it is installed, as Debian's packages do."""


def source(machine: Sandbox, folder: str, packages: Iterable[Package]) -> str:
    """Put a source of packages on the machine; returns its line for apt."""
    place = machine.path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for package in packages:
        _build(package, place)
    with (place / "Packages").open("w") as index:
        subprocess.run(["dpkg-scanpackages", "--multiversion", "."], cwd=place, stdout=index, stderr=subprocess.DEVNULL,
                       check=True)  # fmt: skip
    return f"deb [trusted=yes] file:/{folder} ./"


def only(machine: Sandbox, *lines: str) -> None:
    """Let the machine's apt know these sources and no other."""
    machine.write("etc/apt/sources.list", "\n".join(lines) + "\n")
    for path in Path("/etc/apt/sources.list.d").glob("*"):
        machine.write(f"etc/apt/sources.list.d/{path.name}", "")
    machine.run(["apt-get", "update"])


def _build(package: Package, place: Path) -> None:
    tree = place / "tree"
    control = [f"Package: {package.name}", f"Version: {package.version}", "Architecture: all", "Maintainer: nobody",
               "Description: stand-in"]  # fmt: skip
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN/control").write_text(
        "\n".join(control + [f"Depends: {package.depends}"] * bool(package.depends)) + "\n"
    )
    if package.service:
        (tree / "usr/lib/systemd/system").mkdir(parents=True)
        (tree / f"usr/lib/systemd/system/{package.service}.service").write_text("[Service]\nExecStart=/bin/true\n")
    if package.starts:
        script = tree / "DEBIAN/postinst"
        words = ("--system daemon-reload", f"enable {package.service}", f"start {package.service}")
        script.write_text("#!/bin/sh\nset -e\n" + "".join(f"/usr/local/bin/systemctl {one}\n" for one in words))
        script.chmod(0o755)
    for program in package.programs:
        path = tree / program.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    name = f"{package.name}_{package.version.replace(':', '%3a')}_all.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b", str(tree), str(place / name)],
                   stdout=subprocess.DEVNULL, check=True)  # fmt: skip
    subprocess.run(["rm", "-r", str(tree)], check=True)
