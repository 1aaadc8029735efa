"""The alert catalogue: one row per rule, each with its source, its runbook and its drill."""

from __future__ import annotations

from collections.abc import Mapping

from infra.catalog.alerts.alert import Alert
from infra.catalog.alerts.budgets import BUDGETS
from infra.catalog.alerts.business import BUSINESS
from infra.catalog.alerts.cluster import CLUSTER
from infra.catalog.alerts.engines import ENGINES
from infra.catalog.alerts.fabric import FABRIC
from infra.catalog.alerts.gateway import GATEWAY
from infra.catalog.alerts.gpus import GPUS
from infra.catalog.alerts.hosts import HOSTS
from infra.catalog.alerts.models import MODELS
from infra.catalog.alerts.monitoring import MONITORING

GROUPS: Mapping[str, tuple[Alert, ...]] = {
    "models": MODELS,
    "engines": ENGINES,
    "budgets": BUDGETS,
    "gateway": GATEWAY,
    "gpus": GPUS,
    "hosts": HOSTS,
    "fabric": FABRIC,
    "cluster": CLUSTER,
    "monitoring": MONITORING,
    "business": BUSINESS,
}
"""Rows by what they look at."""

RULES: tuple[Alert, ...] = tuple(row for rows in GROUPS.values() for row in rows)
"""All rows."""

ALERTS: Mapping[str, Alert] = {row.name: row for row in reversed(RULES)}
"""First row of each name; its severity, level, runbook and drill hold for the others too."""
