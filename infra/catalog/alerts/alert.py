"""What one alert is: when it fires, for whom, and what answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["page", "ticket", "info"]
"""Wake someone · do it in working hours · know it."""

Level = Literal["gpu", "host", "fabric", "service", "business", "cluster", "monitoring"]
"""What is at fault; routes and inhibitions go by it."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alerting rule; rows with one name are parts of one alert.

    ``expr`` holds ``<5m>`` for a window of five minutes at pace 1, and ``<name>`` for one of its limits or a figure
    of the plan; ``summary`` and ``description`` are templates of Prometheus.
    """

    name: str
    severity: Severity
    level: Level
    expr: str
    hold: str
    """How long it must hold before it fires, at pace 1; ``0s``: at once."""
    summary: str
    description: str
    runbook: str
    """Command that answers it, such as ``serving/explain_latency``."""
    source: str
    """Where the threshold comes from."""
    drill: str = ""
    """Fault that makes it fire for real; empty: ``no_drill`` says why there is none."""
    no_drill: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    """More labels, where a name has several rules."""
    hardware: bool = False
    """Fires on hardware only: no lab has what it looks at."""
