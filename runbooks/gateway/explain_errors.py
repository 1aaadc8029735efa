"""Find why the gateway itself fails requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.plan.manifests.model import NAMESPACE as MODELS
from runbooks.engine.model import Outcome, step
from runbooks.gateway._door import OfGateway, states
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, replicas, responses, told
from runbooks.lib.mitigations import ReplacePod, Restart, RollBack, ShedTier, Silence, SilenceInputs

if TYPE_CHECKING:
    from runbooks.engine.context import Context

ELSEWHERE = ("no replica", "no connection", "replica lost", "silent")
"""Causes that lie behind the gateway; a new gateway does not help against them."""


class ExplainErrors(OfGateway, Restart, ReplacePod, RollBack, ShedTier, Silence):
    """Explain 5xx that no engine wrote: replicas out of reach, retries used up, too slow, or a gateway that is full."""

    answers = ("GatewayErrorsHigh",)
    owner = "gateway"
    lock = "{stack}"
    risk = "a gateway pod that is replaced drains first; a tier that is shed is refused with 429"

    class Inputs(SilenceInputs):
        """Which pod to replace, which tier to shed."""

        pod: str = Field(default="", description="gateway pod to replace; left out: the one at fault")
        tier: str = Field(default="", description="tier to shed; left out: the one that waits with least harm")
        percent: int = Field(default=100, ge=1, le=100, description="how many of 100 requests of the tier are refused")
        do: Literal["nothing", "restart", "replace_pod", "roll_back", "shed_tier", "silence"] = "nothing"

    @step("what is wrong with the gateway's pods", writes=False)
    def states(self, ctx: Context) -> Outcome:
        """Look at replicas, pods and events."""
        return told(states(ctx), "all planned gateway pods are ready, and Kubernetes finds nothing wrong with them")

    @step("whether the models have replicas", writes=False)
    def behind(self, ctx: Context) -> Outcome:
        """Compare the replicas of every model with the plan."""
        found, kube = list[Finding](), clients.of(ctx).kube
        for plan in clients.of(ctx).plan.models:
            for one in replicas.missing(kube.deployments.get(MODELS, plan.name), plan.model.replicas):
                said = f"{one.said}; see serving/recover_engine --model {plan.name}"
                found.append(Finding(one.fault, said, one.since, (), one.about))
        return told(found, "every model has its planned replicas")

    @step("what the gateway fails, and why", writes=False)
    def failures(self, ctx: Context) -> Outcome:
        """Count its own 5xx by code and flags."""
        found = [
            Finding(one.fault, f"{one.said}; see serving/explain_errors --model {one.about}", one.since, (), one.about)
            if one.fault in ELSEWHERE
            else one
            for one in responses.failures(ctx, own=True)
        ]
        return told(found, f"the gateway failed no request by itself within {responses.window(ctx)}")
