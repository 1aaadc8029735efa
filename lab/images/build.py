"""Build the images into the cache, and bring them into a running containerd."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock

from infra.errors import CheckError
from lab import paths
from lab.images import catalog, oci, rootfs
from lab.steps import Report

NAMESPACE = "k8s.io"
"""The containerd namespace that the kubelet's runtime looks in."""

Run = Callable[[list[str]], str]
"""How a program is run: its output, or a CheckError."""


def digests_file() -> Path:
    """Where the digests of this clone's images are written."""
    return paths.state_dir() / "images.json"


def is_ready() -> bool:
    """Whether each image of this recipe is built, and its digest written."""
    built = archives() if rootfs.folder().exists() else {}
    if not built or not digests_file().exists() or not all(archive.exists() for archive in built.values()):
        return False
    return _text({name: oci.digest_of(archive) for name, archive in built.items()}) == digests_file().read_text()


def ensure(report: Report) -> str:
    """Build what is missing, and write name and digest of each image to ``images.json``."""
    debian = rootfs.ensure(report)
    built = {image.name: _build(image, debian, report) for image in catalog.images(debian)}
    _write({name: oci.digest_of(archive) for name, archive in built.items()})
    return f"{len(built)} images"


def archives() -> dict[str, Path]:
    """The archive of each image, by name; built or not."""
    debian = rootfs.folder()
    return {image.name: _archive(image, debian) for image in catalog.images(debian)}


def _archive(image: oci.Image, debian: Path) -> Path:
    short = image.name.rsplit("/", 1)[1]
    return paths.cache_dir() / "images" / f"{short}-{catalog.key(image, debian)}.tar"


def _build(image: oci.Image, debian: Path, report: Report) -> Path:
    archive = _archive(image, debian)
    archive.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(archive.with_suffix(".lock")):
        if not archive.exists():
            report(f"packs {image.name}")
            oci.write_image(image, archive)
    return archive


def _write(digests: Mapping[str, str]) -> None:
    target = digests_file()
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(".partial")
    partial.write_text(_text(digests))
    partial.replace(target)


def _text(digests: Mapping[str, str]) -> str:
    return json.dumps(digests, indent=2, sort_keys=True) + "\n"


def run(argv: list[str]) -> str:
    """Run a program to its end and return what it printed.

    Raises:
        CheckError: it failed; the message holds its last line.
    """
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        raise CheckError(
            f"{' '.join(argv)} — ended with code {done.returncode} and said {said!r} — 0 was expected — "
            "see the log of containerd"
        )
    return done.stdout


def load(client: list[str], report: Report, *, run: Run = run) -> str:
    """Import the images that a running containerd does not have, and read them back.

    Args:
        client: the ``ctr`` command with what it needs to reach the lab's containerd (namespace entry, ``--address``).
    Raises:
        CheckError: an import failed, or an image is still not there.
    """
    images = [*client, "--namespace", NAMESPACE, "images"]
    present = set(run([*images, "list", "--quiet"]).split())
    wanted = archives()
    missing = [name for name, archive in wanted.items() if not _names(name, archive) <= present]
    for name in missing:
        report(f"imports {name}")
        run([*images, "import", "--local", str(wanted[name])])
    present = set(run([*images, "list", "--quiet"]).split())
    absent = sorted(set().union(*(_names(*each) for each in wanted.items())) - present)
    if absent:
        raise CheckError(
            f"containerd — lacks {', '.join(absent)} after the import — all are needed — run `lab down`, then `lab up`"
        )
    return f"{len(wanted)} images, {f'{len(missing)} of them new' if missing else 'already there'}"


def _names(name: str, archive: Path) -> set[str]:
    return {f"{name}:{catalog.TAG}", f"{name}@{oci.digest_of(archive)}"}
