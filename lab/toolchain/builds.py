"""Build one tool from its pinned modules into the cache, whole or not at all."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.errors import CheckError, ConfigError
from lab import paths
from lab.commands import run_logged
from lab.steps import Report
from lab.toolchain.golang import build_flags, environment, go_binary, module_folder
from lab.toolchain.table import GO_VERSION, ModuleFile, Tool
from lab.toolchain.versions import ask, parse

REPLACED = "_vendor"
"""Folder in a tool's pins; each package in it takes the place of the one of the same path among the modules."""

RECORD = "build.json"
"""File beside the programs that says how long the build took (s)."""


def folder(tool: Tool, go: Path) -> Path:
    """Where the tool is built into: one folder for each content of its pins, flags and Go version."""
    return paths.cache_dir() / "tools" / tool.name / f"{tool.version}-{key(tool, go)}"


def key(tool: Tool, go: Path) -> str:
    """Hash of everything that decides what is built."""
    digest = hashlib.sha256(repr((tool, build_flags(tool), ask(go, ["version"]))).encode())
    for source in sorted(path for path in tool.pins.rglob("*") if path.is_file()):
        digest.update(f"{source.relative_to(tool.pins)}\0".encode() + source.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def build(tool: Tool, log: Path, jobs: int, report: Report) -> Path:
    """Build a tool, unless it is built already, and give the folder of its programs.

    Safe to be cut off anywhere, and to be run by several processes at once: the folder appears when it is complete.

    Args:
        log: file that gets what the compiler says.
        jobs: how many packages are compiled side by side (count).
        report: told what is being done.
    Raises:
        ConfigError: there is no Go.
        CheckError: it does not compile, or what came out answers with another version than the pinned one.
    """
    go = go_binary()
    if go is None:
        oldest = ".".join(map(str, GO_VERSION))
        raise ConfigError(f"go — not found, or too old, on PATH and in the cache — {oldest} or newer — run `lab up`")
    target = folder(tool, go)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.with_name(f".{target.name}.lock"), report):
        if not target.exists():
            for leftover in target.parent.glob(f".{target.name}.*.partial"):
                shutil.rmtree(leftover, ignore_errors=True)
            # A name of its own, because the compiler of a build that was killed may still be writing.
            partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
            _build_into(partial, tool, go, log, jobs, report)
            _move_whole(partial, target)
    return target / "bin"


def _build_into(partial: Path, tool: Tool, go: Path, log: Path, jobs: int, report: Report) -> None:
    started = time.monotonic()
    source = partial / "source"
    shutil.copytree(tool.pins, source)
    env = environment(tool)
    report("fetching modules")
    packages = [binary.package for binary in tool.binaries]
    if (source / REPLACED).is_dir():
        # With -e, because a package that is replaced may lack what it embeds; the build notices any other gap.
        run_logged([str(go), "mod", "vendor", "-e"], log.with_suffix(".vendor.log"), report, env=env, cwd=source)
        _replace_packages(source / REPLACED, source / "vendor")
    _copy(tool.embedded, source, go, tool)
    out = partial / "bin"
    argv = [str(go), "build", "-v", "-p", str(jobs), *build_flags(tool), "-o", f"{out}/", *packages]
    run_logged(argv, log, report, env=env, cwd=source)
    for binary in tool.binaries:
        (out / binary.built_as).rename(out / binary.name)
    _copy(tool.shipped, out, go, tool)
    shutil.rmtree(source)
    _check(tool, out)
    record = {"tool": tool.name, "version": tool.version, "seconds": round(time.monotonic() - started, 1)}
    (partial / RECORD).write_text(json.dumps(record) + "\n")


def _replace_packages(ours: Path, vendor: Path) -> None:
    for package in {file.parent for file in ours.rglob("*.go")}:
        replaced = vendor / package.relative_to(ours)
        for file in replaced.glob("*.go"):
            file.unlink()
        for file in package.glob("*.go"):
            shutil.copyfile(file, replaced / file.name)


def _copy(files: tuple[ModuleFile, ...], into: Path, go: Path, tool: Tool) -> None:
    for file in files:
        target = into / file.target
        target.parent.mkdir(parents=True, exist_ok=True)
        source = module_folder(go, tool, file.module) / file.source
        # Modules are read-only in Go's cache; a copy of ours must be removable.
        if source.is_dir():
            shutil.copytree(source, target, copy_function=shutil.copyfile)
            for folder in (target, *(path for path in target.rglob("*") if path.is_dir())):
                folder.chmod(0o755)
        else:
            shutil.copyfile(source, target)


def _check(tool: Tool, out: Path) -> None:
    for binary in tool.binaries:
        answer = ask(out / binary.name, binary.ask)
        if answer != parse(tool.version):
            raise CheckError(
                f"{binary.name} — built, but answers with version {answer} — {tool.version} was to be built — "
                f"compare lab/tools/{tool.name}/go.mod with lab/toolchain/table.py"
            )


def _move_whole(partial: Path, target: Path) -> None:
    """Rename only what is on the disk, so that a power cut leaves either nothing or all of it."""
    for path in [*partial.rglob("*"), partial]:
        _sync(path)
    partial.rename(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path, report: Report) -> Iterator[None]:
    """Hold a lock that ends with this process, however it ends."""
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("another process builds the same")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
