"""Charts: where each operator's chart comes from, and the digest it must have."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from infra.config.base import Frozen

ChartName = Literal["gpu-operator", "kueue", "network-operator"]
"""Charts that a stack can install. Source: ``infra/catalog/charts.py``, held equal by a test."""

REPOSITORY_PATTERN = r"^https?://[^\s@]+$"
"""Address of a chart repository; what opens it does not belong into a stack."""

OCI_PATTERN = r"^oci://[a-z0-9.:-]+(/[a-z0-9._-]+)*$"
"""Folder of an OCI registry that holds charts by their names."""

SHA256_PATTERN = r"^[0-9a-f]{64}$"
"""A digest as ``sha256sum`` prints it."""

CHART_VERSION_PATTERN = r"^v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$"
"""One version of a chart, no range: a range installs what nobody looked at. Source: Helm, SemVer 2."""


class ChartSource(Frozen):
    """Where one chart comes from; left out, from where its makers publish it."""

    version: Annotated[str, Field(pattern=CHART_VERSION_PATTERN)] | None = None
    """Left out: the newest that we know to work."""
    repository: Annotated[str, Field(pattern=REPOSITORY_PATTERN)] | None = None
    """Address under which an ``index.yaml`` lies; the archive is fetched by whoever runs Pulumi."""
    oci: Annotated[str, Field(pattern=OCI_PATTERN)] | None = None
    """Folder in an OCI registry, such as ``oci://mirror.example.com/charts``."""
    folder: Annotated[str, Field(min_length=1)] | None = None
    """Folder with ``<name>-<version>.tgz`` in it, relative to the clone: nothing is fetched."""
    sha256: Annotated[str, Field(pattern=SHA256_PATTERN)] | None = None
    """Digest of the archive, or with ``oci`` of the manifest, as ``helm push`` prints it. Left out, the published
    archive's, where it is known."""

    @model_validator(mode="after")
    def _comes_from_one_place(self) -> Self:
        named = [key for key in ("repository", "oci", "folder") if getattr(self, key) is not None]
        if len(named) > 1:
            raise ValueError(f"{' and '.join(named)}; a chart comes from one place, choose one of them")
        return self

    @model_validator(mode="after")
    def _a_registry_has_its_own_digest(self) -> Self:
        if self.oci and not self.sha256:
            raise ValueError(
                "oci without sha256; a registry's manifest has a digest of its own, write the one `helm push` printed"
            )
        return self
