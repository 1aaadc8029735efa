"""Archives of charts on this machine: from a folder, or fetched once and compared with their digest.

Helm itself compares nothing with a digest that it takes from a repository.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx

from infra import fast_yaml
from infra.config.archives import doubt
from infra.errors import ConfigError, Unknown
from infra.plan.charts import Chart

FETCH_SECONDS = 60.0
"""Longest silence of a repository (seconds)."""


def gather(charts: Iterable[Chart], root: Path) -> None:
    """Have every archive here before anything is declared; those of folders were compared when the stack was read.

    Args:
        charts: that the stack installs.
        root: the clone.
    Raises:
        ConfigError: what is wrong with any of them, all at once.
        Unknown: a repository does not answer.
    """
    problems: list[str] = []
    for chart in charts:
        if chart.kind == "repository":
            try:
                have(chart, root / chart.path)
            except ConfigError as error:
                problems += error.problems
    if problems:
        raise ConfigError(*problems)


def have(chart: Chart, path: Path) -> None:
    """Fetch an archive of a repository, unless it lies there already.

    Raises:
        ConfigError: it is not the archive that is meant, nobody has said which is, or its version is not listed.
        Unknown: the repository does not answer.
    """
    if path.is_file() and not doubt(chart.name, chart.path, path.read_bytes(), chart.digest):
        return
    content = _fetched(chart)
    told = doubt(chart.name, chart.path, content, chart.digest)
    if told and chart.digest:
        raise ConfigError(f"RW-402 {told}")
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(path)
    if told:
        raise ConfigError(f"RW-402 {told}")


def _fetched(chart: Chart) -> bytes:
    base = f"{chart.source.rstrip('/')}/"
    try:
        with httpx.Client(timeout=FETCH_SECONDS, follow_redirects=True) as client:
            index = client.get(urljoin(base, "index.yaml")).raise_for_status()
            address = urljoin(base, _listed(chart, index.content))
            return client.get(address).raise_for_status().content
    except httpx.HTTPError as error:
        raise Unknown(
            f"chart {chart.archive} of {chart.source} — cannot be fetched ({error}) — look at the address, "
            f"or put the archive into a folder and name it under charts.{chart.name}.folder"
        ) from error


def _listed(chart: Chart, index: bytes) -> str:
    """Address of the archive as the repository's index has it. Source: Helm, The Chart Repository Guide."""
    entries: list[dict[str, Any]] = fast_yaml.load(index)["entries"].get(chart.name, [])
    for entry in entries:
        if entry["version"] == chart.version:
            return str(entry["urls"][0])
    newest = ", ".join(str(entry["version"]) for entry in entries[:5]) or "none"
    raise ConfigError(f"charts.{chart.name}.version: {chart.version!r} is not in {chart.source}; it has {newest}")
