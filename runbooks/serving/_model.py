"""What the runbooks of one model share: its inputs, its targets, its Deployment, and its tenants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from infra.plan.manifests.model import NAMESPACE
from runbooks.engine.model import Target
from runbooks.lib import clients, scaling
from runbooks.lib.diagnosis import Background, Finding, given
from runbooks.lib.diagnosis.responses import shares
from runbooks.lib.mitigations import SilenceInputs

if TYPE_CHECKING:
    from infra.plan.facts import ModelPlan, Objectives
    from runbooks.engine.context import Context

LARGE = 0.4
"""Share of all requests from which a tenant is named (ratio). Source: our choice."""


class ModelInputs(SilenceInputs):
    """Which model."""

    model: str = Field(description="model, by the name that clients send")


class ShedInputs(SilenceInputs):
    """Whom to shed, and how much."""

    tier: str = Field(default="", description="tier to shed; left out: the one that waits with least harm")
    percent: int = Field(default=100, ge=1, le=100, description="how many of 100 requests of the tier are refused")


class OfModel(Background):
    """A runbook about one model."""

    def workload(self, ctx: Context) -> tuple[str, str] | None:
        """The model's Deployment."""
        return NAMESPACE, given(ctx).model

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The model, its Deployment and its pods.

        Raises:
            ConfigError: the stack serves no such model.
        """
        model = scaling.planned(ctx, given(ctx).model).name
        yield Target("model", model)
        yield Target("deployment", model, NAMESPACE)
        yield from (Target("pod", pod.name, NAMESPACE) for pod in clients.of(ctx).kube.pods.of_model(model))


def planned(ctx: Context) -> ModelPlan:
    """The plan of the model."""
    return scaling.planned(ctx, given(ctx).model)


def promises(ctx: Context) -> Objectives | None:
    """What the model promises; None where nothing watches the stack."""
    watched = clients.of(ctx).plan.observability
    return watched.objectives.get(given(ctx).model) if watched is not None else None


def tenants(ctx: Context) -> list[Finding]:
    """Tenants that ask for a large part of what the model is asked."""
    expression = 'sum by (tenant, tier) (rate(envoy_railwright_requests{model="$model"}[5m])) > 0'
    found = clients.of(ctx).prometheus.samples(expression, needs=("envoy_railwright_requests",), model=given(ctx).model)
    return shares(found, f"the requests for model {given(ctx).model}", above=LARGE)
