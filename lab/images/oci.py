"""Write OCI image layouts as tar files: the same input gives the same bytes, and so the same digest.

Layers are not compressed: they go from this disk to this disk, and time is what the lab is short of.
Source: the OCI image specification 1.1 (image layout, manifest, configuration, layer).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import stat
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
"""Media type of a manifest."""

CONFIG = "application/vnd.oci.image.config.v1+json"
"""Media type of an image configuration."""

LAYER = "application/vnd.oci.image.layer.v1.tar"
"""Media type of a layer that is a plain tar."""

NAME = "io.containerd.image.name"
"""Annotation whose value containerd takes as the image's name on import."""

CHUNK = 1 << 20
"""Read size (bytes)."""


@dataclass(frozen=True)
class Tree:
    """A file or folder of the machine and where it lies in the image.

    Args:
        source: file or folder; a folder goes in with all that is below it.
        target: path in the image without leading slash; empty for the root.
        owned: keep owner and group; else everything belongs to root.
        without: paths below the source whose content is left out.
    """

    source: Path
    target: str
    owned: bool = False
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Image:
    """What an image is, apart from its bytes.

    Args:
        name: full name without tag.
        tag: short name of this build; not to be used in pods.
        layers: bottom first.
        settings: the ``config`` object of the image configuration (User, Env, Entrypoint and so on).
    """

    name: str
    tag: str
    layers: tuple[tuple[Tree, ...], ...]
    settings: dict[str, Any]


@dataclass(frozen=True)
class Blob:
    """Bytes with their digest; in memory or in an open file."""

    media: str
    digest: str
    size: int
    content: bytes | IO[bytes]

    def descriptor(self) -> dict[str, Any]:
        """How a manifest or index refers to it."""
        return {"mediaType": self.media, "digest": self.digest, "size": self.size}


def walk(tree: Tree) -> Iterator[tuple[Path, str]]:
    """Yield each path of a tree with its name in the image, folders before their content, sorted."""
    yield tree.source, tree.target
    if not tree.source.is_dir() or tree.source.is_symlink():
        return
    for base, folders, files in os.walk(tree.source):
        inside = os.path.relpath(base, tree.source)
        folders.sort()
        if inside in tree.without:
            folders.clear()
            continue
        for name in sorted([*folders, *files]):
            path = Path(base) / name
            yield path, (Path(tree.target) / inside / name).as_posix()


def write_layer(trees: Sequence[Tree], out: IO[bytes]) -> None:
    """Write a layer: entries sorted by name, no times, device files and sockets left out."""
    entries = {name: (path, tree) for tree in trees for path, name in walk(tree) if name}
    parents = {str(parent) for name in entries for parent in Path(name).parents if str(parent) != "."}
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name in sorted({*entries, *parents}):
            _add(tar, name, *entries.get(name, (None, None)))


def _add(tar: tarfile.TarFile, name: str, path: Path | None, tree: Tree | None) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o755
    if path is None or tree is None:
        tar.addfile(info)
        return
    seen = path.lstat()
    info.mode = stat.S_IMODE(seen.st_mode)
    if tree.owned:
        info.uid, info.gid = seen.st_uid, seen.st_gid
    if stat.S_ISLNK(seen.st_mode):
        info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
    if stat.S_ISREG(seen.st_mode):
        info.type, info.size = tarfile.REGTYPE, seen.st_size
        with path.open("rb") as content:
            tar.addfile(info, content)
    elif stat.S_ISLNK(seen.st_mode) or stat.S_ISDIR(seen.st_mode):
        tar.addfile(info)


def _json(media: str, value: Any) -> Blob:
    content = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    return Blob(media, f"sha256:{hashlib.sha256(content).hexdigest()}", len(content), content)


def _layer(trees: Sequence[Tree], scratch: IO[bytes]) -> Blob:
    write_layer(trees, scratch)
    size = scratch.tell()
    scratch.seek(0)
    digest = hashlib.file_digest(scratch, "sha256").hexdigest()  # type: ignore[arg-type]  # typeshed wants readinto
    scratch.seek(0)
    return Blob(LAYER, f"sha256:{digest}", size, scratch)


def _index(image: Image, manifest: Blob) -> bytes:
    # Two names: pods ask for the digest, and containerd finds an image only under a name that it was given.
    names = (f"{image.name}:{image.tag}", f"{image.name}@{manifest.digest}")
    entries = [{**manifest.descriptor(), "annotations": {NAME: name}} for name in names]
    return json.dumps({"schemaVersion": 2, "manifests": entries}, sort_keys=True).encode()


def write_image(image: Image, target: Path) -> str:
    """Write an image layout, whole or not at all, and return the digest of its manifest."""
    partial = target.with_suffix(".partial")
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        opened = [(Path(scratch) / str(n)).open("w+b") for n in range(len(image.layers))]
        layers = [_layer(trees, file) for trees, file in zip(image.layers, opened, strict=True)]
        config = _json(
            CONFIG,
            {
                "architecture": "amd64",
                "os": "linux",
                "config": image.settings,
                "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
            },
        )
        manifest = _json(
            MANIFEST,
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": config.descriptor(),
                "layers": [layer.descriptor() for layer in layers],
            },
        )
        with tarfile.open(partial, "w", format=tarfile.GNU_FORMAT) as tar:
            _put(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
            for blob in (*layers, config, manifest):
                _put(tar, f"blobs/{blob.digest.replace(':', '/')}", blob.content, blob.size)
            _put(tar, "index.json", _index(image, manifest))
        for file in opened:
            file.close()
    partial.replace(target)
    return manifest.digest


def _put(tar: tarfile.TarFile, name: str, content: bytes | IO[bytes], size: int | None = None) -> None:
    info = tarfile.TarInfo(name)
    info.mode = 0o644
    if isinstance(content, bytes):
        size, content = len(content), io.BytesIO(content)
    info.size = size or 0
    tar.addfile(info, content)


def digest_of(path: Path) -> str:
    """Read the digest of the manifest back from an image layout."""
    with tarfile.open(path) as tar:
        member = tar.extractfile("index.json")
        digest: str = json.loads(member.read() if member else "{}")["manifests"][0]["digest"]
    return digest
