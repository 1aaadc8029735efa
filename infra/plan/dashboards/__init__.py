"""Dashboards: descriptions that Grafana and the lab's report are both drawn from."""

from __future__ import annotations

from infra.plan.dashboards.board import Board
from infra.plan.dashboards.cluster import CLUSTER
from infra.plan.dashboards.drill import DRILL
from infra.plan.dashboards.hosts import HOSTS_AND_GPUS
from infra.plan.dashboards.model import MODELS
from infra.plan.dashboards.tenant import TENANTS_AND_COST

BOARDS: tuple[Board, ...] = (CLUSTER, HOSTS_AND_GPUS, MODELS, TENANTS_AND_COST, DRILL)
"""From the whole to the part."""
