"""Archives of charts on this machine: from a folder, or fetched once and compared with their digest.

Helm itself compares nothing with a digest that it takes from a repository.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx

from infra import fast_yaml
from infra.errors import CheckError, ConfigError, Unknown
from infra.plan.charts import Chart

FOLDER = ".charts"
"""Where fetched archives are kept, below the clone; git ignores it."""

FETCH_SECONDS = 60.0
"""Longest silence of a repository (seconds)."""


def local(chart: Chart, root: Path) -> Path:
    """Where a chart's archive lies, after it was fetched if it must be.

    Args:
        root: the clone.
    Raises:
        CheckError: it is not the archive that its digest names.
        ConfigError: the repository does not have that version, or nobody has said which archive is meant.
        Unknown: the repository does not answer.
    """
    if chart.kind == "folder":
        return root / chart.source / chart.archive
    path = root / FOLDER / chart.archive
    if path.is_file() and _digest(path.read_bytes()) == chart.digest:
        return path
    content = _fetched(chart)
    found = _digest(content)
    if found != chart.digest and chart.digest:
        raise CheckError(
            f"chart {chart.archive} of {chart.source} — has the digest {found} — {chart.digest} was expected — "
            "do not install it; look at what changed, then write its digest into the stack"
        )
    path.parent.mkdir(exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(path)
    if not chart.digest:
        raise ConfigError(
            f"RW-402 charts.{chart.name}.sha256: left out, and no source tells which {chart.archive} is meant; "
            f"look at {FOLDER}/{chart.archive}, fetched from {chart.source}, then set it to {found}"
        )
    return path


def gather(charts: Iterable[Chart], root: Path) -> None:
    """Have every archive here before anything is declared.

    Args:
        charts: that the stack installs.
        root: the clone.
    Raises:
        ConfigError: what is wrong with any of them, all at once.
        Unknown: a repository does not answer.
    """
    problems = []
    for chart in charts:
        if chart.kind == "oci":
            continue
        try:
            local(chart, root)
        except (CheckError, ConfigError) as error:
            problems.append(str(error))
    if problems:
        raise ConfigError(*problems)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


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
