"""vLLM for the CPU as a folder of wheels that any Debian 12 Python 3.11 can run, installed once per lock.

``requirements.lock`` names each wheel by hash. It is made by, in the clone's root::

    uv pip compile --no-header --generate-hashes --no-emit-index-url --python-version 3.11 \
        --python-platform x86_64-manylinux_2_36 --only-binary :all: \
        --override lab/engine/overrides.txt lab/engine/requirements.in --output-file lab/engine/requirements.lock
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock
from uv import find_uv_bin

from lab import paths
from lab.commands import run_logged
from lab.images import rootfs
from lab.images.chroot import Mount, run_inside
from lab.steps import Report

VERSION = "0.32.0"
"""Release of vLLM that the lock pins."""

PYTHON = "3.11"
"""Python of the image (Debian 12), whatever Python the lab itself runs on."""

INSIDE = "/opt/engine"
"""Where pods and this module see the folder."""

NOTES = "vllm-cache"
"""Folder below the engine's, with what vLLM noted about model classes."""

HERE = Path(__file__).parent
"""Folder of the lock and of the scripts that run inside."""


def environment() -> dict[str, str]:
    """Environment variables that every run of the engine needs."""
    return {
        "PYTHONPATH": INSIDE,
        "HOME": "/tmp",  # noqa: S108  # a path inside the container, where /tmp is its own
        "VLLM_CACHE_ROOT": f"{INSIDE}/{NOTES}",
        "VLLM_NO_USAGE_STATS": "1",
        "HF_HUB_OFFLINE": "1",
    }


@dataclass(frozen=True)
class EngineRuntime:
    """An installed engine, as a pod spec needs to know it.

    Args:
        host_path: folder on the machine.
        version: release of vLLM.
        mount_path: where pods see the folder, read-only.
        command: program and arguments before the model's path.
        env: variables that every run needs.
    """

    host_path: Path
    version: str = VERSION
    mount_path: str = INSIDE
    command: tuple[str, ...] = (f"/usr/bin/python{PYTHON}", "-m", "vllm.entrypoints.cli.main", "serve")
    env: Mapping[str, str] = field(default_factory=environment)


def runtime() -> EngineRuntime:
    """The engine of this lock, installed or not."""
    seen = hashlib.sha256(PYTHON.encode())
    for name in ("requirements.lock", "warm_engine.py"):
        seen.update((HERE / name).read_bytes())
    return EngineRuntime(paths.cache_dir() / "engines" / f"vllm-{VERSION}-{seen.hexdigest()[:12]}")


def ensure(report: Report) -> EngineRuntime:
    """Install the engine unless it is there; a cut-off run starts over from uv's cache, which is quick.

    Raises:
        CheckError: a wheel cannot be had, its hash differs, or the engine does not import.
    """
    engine = runtime()
    if engine.host_path.exists():
        return engine
    engine.host_path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{engine.host_path}.lock"):
        if engine.host_path.exists():
            return engine
        partial = engine.host_path.with_name(f"{engine.host_path.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        _install(partial, report)
        report("imports the engine once")
        script = Mount(HERE, "/opt/railwright")
        run_in(partial, ["/opt/railwright/warm_engine.py"], (script,), "engine-warm.log", report)
        open_to_all(partial / NOTES)
        partial.replace(engine.host_path)
    return engine


def open_to_all(folder: Path) -> None:
    """Let pods read a folder: they run as another user, and these libraries write for the owner alone."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def run_in(folder: Path, arguments: list[str], mounts: tuple[Mount, ...], log: str, report: Report) -> None:
    """Run a Python program of ours inside, with the engine's folder mounted.

    Raises:
        CheckError: it failed.
    """
    debian = rootfs.ensure(report)
    everything = (Mount(folder, INSIDE), *mounts)
    env = {**environment(), "TOKENIZERS_PARALLELISM": "false"}
    logs = paths.state_dir() / "log" / "up"
    # -P: the scripts lie beside a module named vllm, which must not stand for the package.
    run_inside(debian, everything, [f"/usr/bin/python{PYTHON}", "-P", *arguments], env, logs / log, report)


def _install(folder: Path, report: Report) -> None:
    report("downloads 160 wheels, 2.8 GB")
    exact = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--link-mode", "hardlink"]
    target = ["--target", str(folder), "--python-version", PYTHON, "--python-platform", "x86_64-manylinux_2_36"]
    run_logged(
        [find_uv_bin(), "pip", "install", *exact, *target, "--requirements", str(HERE / "requirements.lock")],
        paths.state_dir() / "log" / "up" / "engine-install.log",
        report,
    )
    # The programs among the wheels name the Python that ran the install; nobody here uses them.
    shutil.rmtree(folder / "bin", ignore_errors=True)
    # The command line looks its version up under the name of the GPU wheel; "cpu" in it picks the platform.
    named = folder / f"vllm-{VERSION}+cpu.dist-info"
    named.mkdir()
    (named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
