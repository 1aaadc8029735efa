"""Kernel settings whose drift monitoring can see: what a host must have, whoever tuned it."""

from __future__ import annotations

from dataclasses import dataclass


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


SETTINGS = (
    Setting("net.core.somaxconn", 4_096, None, "Linux 5.4 raised the default to 4096; below it bursts are refused"),
    Setting("vm.max_map_count", 65_530, None, "Linux default; weights mapped into memory take one area per tensor"),
    Setting(
        "kernel.numa_balancing", 0, 0, "TuneD profiles hpc-compute and network-latency: migration stalls pinned memory"
    ),
)
"""By what drifts most often; the collector is told these keys and no other."""
