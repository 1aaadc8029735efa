"""Dashboards where the sidecar of a Grafana finds them."""

from __future__ import annotations

import json

from infra.plan.dashboards import BOARDS
from infra.plan.facts import ObservabilityPlan
from infra.plan.manifests.base import Manifest, manifest

FOUND_BY = {"grafana_dashboard": "1"}
"""Label that the sidecar looks for. Source: values.yaml of Grafana's Helm chart, sidecar.dashboards."""


def objects(seen: ObservabilityPlan) -> dict[str, Manifest]:
    """One ConfigMap for each dashboard: part → manifest."""
    # Grafana's SDK takes a quarter of a second to import.
    from infra.plan.dashboards.grafana import rendered

    return {
        f"dashboard-{board.name}": manifest(
            "v1",
            "ConfigMap",
            f"dashboard-{board.name}",
            seen.namespace,
            labels=FOUND_BY,
            data={f"{board.name}.json": json.dumps(rendered(board, seen), sort_keys=True)},
        )
        for board in BOARDS
    }
