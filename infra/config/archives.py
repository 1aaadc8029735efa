"""Archives of charts: which of them may be installed, and those in folders, compared when a stack is read."""

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
        try:
            content = (root / path).read_bytes()
        except OSError as error:
            yield (
                f"charts.{name}.folder: {str(path)!r} cannot be read ({error.strerror}); "
                "put the archive there, relative to the clone, as `helm pull` writes it"
            )
            continue
        if told := doubt(name, str(path), content, said.sha256 or (known.sha256 if known else "")):
            yield told


def doubt(name: str, path: str, content: bytes, wanted: str) -> str:
    """What speaks against installing an archive; empty when it is the one that is meant.

    Args:
        name: of the chart.
        path: of the archive, as a person finds it.
        wanted: hex digits of the SHA-256 that the stack or the chart's makers say; empty where neither does.
    """
    found = hashlib.sha256(content).hexdigest()
    if not wanted:
        return (
            f"charts.{name}.sha256: left out, and no source tells which {Path(path).name} is meant; "
            f"look at {path!r}, then set it to {found}"
        )
    if found != wanted:
        return (
            f"charts.{name}: {path!r} has the digest {found}, {wanted} is meant; do not install it, "
            "fetch it anew, or write the digest of the one that you looked at into sha256"
        )
    return ""
