"""Archives of charts that lie in a folder: there, and what they are said to be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from infra.catalog.charts import CHARTS, published
from infra.config.charts import ChartName, ChartSource


def mistakes(charts: Mapping[ChartName, ChartSource], root: Path) -> Iterator[str]:
    """Yield each archive that is not there, cannot be read, or is not known to be the one that is meant.

    Args:
        root: the clone, from which folders start.
    """
    for name, said in charts.items():
        if said.folder is None:
            continue
        version = said.version or CHARTS[name][0].version
        path, known = Path(said.folder) / f"{name}-{version}.tgz", published(name, said.version)
        wanted = said.sha256 or (known.sha256 if known else "")
        try:
            found = hashlib.sha256((root / path).read_bytes()).hexdigest()
        except OSError as error:
            yield (
                f"charts.{name}.folder: {str(path)!r} cannot be read ({error.strerror}); "
                "put the archive there, relative to the clone, as `helm pull` writes it"
            )
            continue
        if not wanted:
            yield (
                f"charts.{name}.sha256: left out, and no source tells which {path.name} is meant; "
                f"look at {str(path)!r}, then set it to {found}"
            )
        elif found != wanted:
            whose = "sha256 says" if said.sha256 else "its makers published"
            yield (
                f"charts.{name}: {str(path)!r} has the digest {found}, {whose} {wanted}; "
                "fetch it anew, or write the digest of the one that you looked at into sha256"
            )
