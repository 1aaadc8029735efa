"""Releases of Helm charts as rules see them: which chart, which version, which values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policies.field import Field
from policies.resource import Resource

RELEASE = "kubernetes:helm.sh/v3:Release"
"""Type of a chart's release."""

_CHART = re.compile(r"(?P<name>[a-z][a-z-]*?)(?:-(?P<version>v?\d[\w.+-]*)\.tgz|[:@][\w.:+-]+)?")
"""Last part of a chart's address: a name, an archive, or a name with tag or digest."""


@dataclass(frozen=True, slots=True)
class Release:
    """One chart of a stack."""

    chart: str
    version: str
    """Empty where nothing says it."""
    resource: Resource

    @property
    def values(self) -> Field:
        """What differs from the chart's own values."""
        return self.resource.inputs["values"]

    def on(self, *keys: str, unless: bool) -> bool:
        """Whether a switch is on; ``unless`` is what the chart itself says.

        Raises:
            Unknown: it can be told at the update only.
        """
        said = self.values.at(*keys).known()
        return unless if said is None else said in (True, "true")


def release(resource: Resource) -> Release:
    """Read one release.

    Raises:
        Unknown: its chart can be told at the update only.
    """
    last = str(resource.inputs["chart"].known() or "").rstrip("/").rpartition("/")[2]
    found = _CHART.fullmatch(last)
    version = (found and found["version"]) or str(resource.inputs["version"].known() or "")
    return Release(found["name"] if found else last, version, resource)


def releases(stack: Sequence[Resource], *charts: str) -> Iterator[Release]:
    """Yield those of some charts.

    Raises:
        Unknown: the chart of one can be told at the update only.
    """
    for resource in stack:
        if resource.type == RELEASE and (found := release(resource)).chart in charts:
            yield found
