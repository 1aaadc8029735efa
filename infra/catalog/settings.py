"""Kernel settings whose drift monitoring can see: those of the tuning catalogue that a metric shows."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.host_tuning import SETTINGS as TUNED


@dataclass(frozen=True, slots=True)
class Setting:
    """One sysctl with the values it may have."""

    key: str
    least: int
    most: int | None
    """None: no upper bound."""
    source: str

    @property
    def metric(self) -> str:
        """Name that node_exporter's sysctl collector gives it."""
        return f"node_sysctl_{self.key.replace('.', '_')}"


WATCHED = ("net.core.somaxconn", "vm.max_map_count", "kernel.numa_balancing")
"""By what drifts most often; the collector is told these keys and no other."""

SETTINGS = tuple(
    Setting(row.key, int(str(row.value)), None if row.compare == "at_least" else int(str(row.value)), row.source)
    for key in WATCHED
    for row in TUNED
    if row.key == key
)
"""In the order of WATCHED."""
