"""What one exporter says: name, type, labels and unit of a metric, and where that is written down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["counter", "gauge", "histogram", "untyped"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric as it is on the wire."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    """Labels of its own; those of the target come on top."""
    unit: str
    job: str
    """Job label of the exporter that gives it."""
    source: str
    edges: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets, without the infinite one."""
    hardware: bool = False
    """Given by hardware only, so a lab cannot show it."""
    late: bool = False
    """Its series appear with their first event only."""

    def series(self) -> Iterator[str]:
        """Names of its series: itself, or the three of a histogram."""
        if self.kind == "histogram":
            yield from (f"{self.name}{suffix}" for suffix in ("_bucket", "_count", "_sum"))
        else:
            yield self.name


@dataclass(frozen=True, slots=True)
class Exporter:
    """What the metrics of one exporter share; makes its rows short."""

    job: str
    source: str
    labels: tuple[str, ...] = ()
    hardware: bool = False

    def gauge(self, name: str, unit: str, *labels: str, hardware: bool = False, late: bool = False) -> Metric:
        """Describe a value that goes up and down."""
        return self._row(name, "gauge", unit, labels, hardware=hardware, late=late)

    def counter(self, name: str, unit: str, *labels: str, hardware: bool = False, late: bool = False) -> Metric:
        """Describe a value that only grows, until its process starts anew."""
        return self._row(name, "counter", unit, labels, hardware=hardware, late=late)

    def untyped(self, name: str, unit: str, *labels: str, hardware: bool = False) -> Metric:
        """Describe a value whose exporter gives no type."""
        return self._row(name, "untyped", unit, labels, hardware=hardware)

    def histogram(self, name: str, unit: str, edges: tuple[float, ...], *labels: str, late: bool = False) -> Metric:
        """Describe a histogram with fixed buckets."""
        return self._row(name, "histogram", unit, (*labels, "le"), edges=edges, late=late)

    def _row(
        self,
        name: str,
        kind: Kind,
        unit: str,
        labels: tuple[str, ...],
        *,
        edges: tuple[float, ...] = (),
        hardware: bool = False,
        late: bool = False,
    ) -> Metric:
        mine = (*self.labels, *labels)
        return Metric(name, kind, mine, unit, self.job, self.source, edges, hardware or self.hardware, late)
