"""Find a tool that is there already: on PATH when it may serve, else in the cache."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab import paths
from lab.toolchain.builds import folder
from lab.toolchain.golang import go_binary
from lab.toolchain.table import Tool
from lab.toolchain.versions import ask, parse, serves


@dataclass(frozen=True, slots=True)
class Found:
    """Where the programs of a tool are.

    Args:
        folder: folder that holds all of its programs.
        built: whether they were built here; otherwise they were on PATH.
        version: what they answer, such as ``1.36.3``.
    """

    folder: Path
    built: bool
    version: str


def find(tool: Tool, search_path: str | None = None) -> Found | None:
    """Where the tool's programs are, or None when it has to be built.

    Args:
        search_path: folders to look in before the cache; PATH when not given.
    """
    return _installed(tool, paths.search_path() if search_path is None else search_path) or _built(tool)


def _installed(tool: Tool, search_path: str) -> Found | None:
    """One on PATH serves when all of its programs come from one folder and each is new enough."""
    pinned = parse(tool.version)
    if not tool.may_be_installed or pinned is None:
        return None
    # Our own links are on PATH in a shell of the lab's; they say nothing about what the machine has.
    own = str(paths.bin_dir())
    others = ":".join(entry for entry in search_path.split(":") if entry != own)
    places = [shutil.which(binary.name, path=others) for binary in tool.binaries]
    folders = {Path(place).parent for place in places if place}
    if len(folders) != 1 or not all(places):
        return None
    where = folders.pop()
    answers = [ask(where / binary.name, binary.ask) for binary in tool.binaries]
    known = [answer for answer in answers if answer is not None and serves(answer, pinned)]
    if len(known) != len(answers):
        return None
    return Found(where, built=False, version=".".join(map(str, min(known))))


def _built(tool: Tool) -> Found | None:
    go = go_binary()
    if go is None:
        return None
    programs = folder(tool, go) / "bin"
    return Found(programs, built=True, version=tool.version) if programs.is_dir() else None


def debian_packages(tools: Iterable[Tool]) -> tuple[str, ...]:
    """Debian packages that building the given tools needs, without those tools that are there already."""
    return tuple(sorted({package for tool in tools if find(tool) is None for package in tool.debian}))
