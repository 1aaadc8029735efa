"""The rules of the stack as one object."""

from __future__ import annotations

from infra.plan import rules
from infra.plan.facts import ObservabilityPlan, Plan
from infra.plan.manifests.base import Manifest
from infra.plan.manifests.observability.form import GROUP, selected

NAME = "railwright"
"""Name of the PrometheusRule."""


def objects(plan: Plan, seen: ObservabilityPlan) -> dict[str, Manifest]:
    """Recording and alert rules: part → manifest."""
    return {"rules": selected(seen, GROUP, "PrometheusRule", NAME, {"groups": rules.rules(plan)})}
