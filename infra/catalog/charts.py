"""Charts that a stack can install: version, where it is published, and the digest of its archive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infra.catalog.kueue import NEWEST


@dataclass(frozen=True, slots=True)
class PublishedChart:
    """One version of a chart as its makers publish it."""

    name: str
    version: str
    repository: str
    """Address under which its ``index.yaml`` lies."""
    sha256: str
    """Digest of the archive; empty where no source that we could read says it, so that the user must."""
    source: str


_GPU_INDEX = "github.com/NVIDIA/gpu-operator, branch gh-pages of 2026-08-21: stable/index.yaml, and the archive itself"
_NO_DIGEST = "github.com/Mellanox/network-operator, tag {}: Chart.yaml; its repository's index was not read"
_GPU, _NETWORK = "https://nvidia.github.io/gpu-operator/stable", "https://helm.ngc.nvidia.com/nvidia"

CHARTS: Mapping[str, tuple[PublishedChart, ...]] = {
    "gpu-operator": (
        PublishedChart("gpu-operator", "v26.7.0", _GPU,
                       "bf6b04c16ff7cbc05720ea4b94187217316f9d869d445cfbde4fe0dffabe2557", _GPU_INDEX),
        PublishedChart("gpu-operator", "v26.3.3", _GPU,
                       "59abb5852a24b3ae0ef757bfea3051f419acbf559ee5efd72f0672d28af56a68", _GPU_INDEX),
    ),
    "network-operator": (
        PublishedChart("network-operator", "26.4.1", _NETWORK, "", _NO_DIGEST.format("v26.4.1")),
        PublishedChart("network-operator", "26.4.0", _NETWORK, "", _NO_DIGEST.format("v26.4.0")),
    ),
    "kueue": (
        # Published as an OCI artifact only, whose manifest has a digest of its own: a stack says place and digest.
        PublishedChart("kueue", NEWEST, "", "", "kubernetes-sigs/kueue, tag v0.17.0: charts/kueue"),
    ),
}  # fmt: skip
"""By name, newest first; the first is what a stack gets that says nothing. A version has a row in ``compat`` too."""


def published(name: str, version: str | None) -> PublishedChart | None:
    """What its makers published under a version, or as their newest; None where we know nothing of it."""
    return next((row for row in CHARTS[name] if version in (None, row.version)), None)
