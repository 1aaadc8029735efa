"""Charts: which archive of each a stack installs, and from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from infra.catalog.charts import CHARTS, published
from infra.config.charts import ChartName, ChartSource

if TYPE_CHECKING:
    from infra.plan.facts import Plan


FETCHED = ".charts"
"""Where fetched archives are kept, below the clone; git ignores it."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart in one version, from one place."""

    name: str
    version: str
    kind: Literal["repository", "oci", "folder"]
    source: str
    """Address of the repository or registry; a folder relative to the clone."""
    digest: str
    """Hex digits of its SHA-256, of the archive or with ``oci`` of the manifest; empty: nobody has said it."""

    @property
    def archive(self) -> str:
        """File name of the archive. Source: Helm, ``helm package``."""
        return f"{self.name}-{self.version}.tgz"

    @property
    def path(self) -> str:
        """Where its archive lies, relative to the clone; no place for one of a registry, which Helm fetches."""
        return f"{self.source if self.kind == 'folder' else FETCHED}/{self.archive}"


def charts_of(sources: Mapping[ChartName, ChartSource]) -> dict[str, Chart]:
    """Every chart that there is, from where a stack says, else from where it is published."""
    return {name: chart(name, sources.get(name, ChartSource())) for name in get_args(ChartName)}


def chart(name: str, said: ChartSource) -> Chart:
    """One chart as a stack says it."""
    newest, known = CHARTS[name][0], published(name, said.version)
    version = said.version or newest.version
    digest = said.sha256 or (known.sha256 if known else "")
    if said.oci:
        return Chart(name, version, "oci", said.oci, digest)
    if said.folder:
        return Chart(name, version, "folder", said.folder, digest)
    return Chart(name, version, "repository", said.repository or newest.repository, digest)


def chart_of(plan: Plan, name: str) -> Chart:
    """The chart of that name which a stack installs."""
    return plan.charts[name]
