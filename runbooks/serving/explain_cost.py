"""Find why tokens cost more than promised, or why tenants have gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.plan.manifests.model import NAMESPACE
from runbooks.engine.model import Outcome, Target, step
from runbooks.lib import clients, scaling
from runbooks.lib.diagnosis import Background, Finding, given, told
from runbooks.lib.mitigations import Silence, SilenceInputs

if TYPE_CHECKING:
    from runbooks.engine.context import Context

PARTLY = 0.3
"""Part of its places from which a model counts as used. Source: our choice."""


class ExplainCost(Background, Silence):
    """Explain the cost of a model's tokens and the number of tenants; capacity is changed in the stack file only."""

    answers = ("CostPerMillionTokensHigh", "TenantsGone")
    owner = "serving"
    lock = "{stack}"
    risk = "none: but for a silence nothing is written"

    class Inputs(SilenceInputs):
        """Which model; left out: all of them."""

        model: str = Field(default="", description="model; left out: all models")
        do: Literal["nothing", "silence"] = "nothing"

    def workload(self, ctx: Context) -> tuple[str, str] | None:
        """The model's Deployment, where one model is meant."""
        return (NAMESPACE, given(ctx).model) if given(ctx).model else None

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The models that are looked at."""
        model = given(ctx).model
        names = [scaling.planned(ctx, model).name] if model else clients.of(ctx).plan.served
        yield from (Target("model", name) for name in names)

    @step("what a million tokens cost", writes=False)
    def cost(self, ctx: Context) -> Outcome:
        """Compare price with limit, and tell what is paid for nothing."""
        prometheus, chosen = clients.of(ctx).prometheus, {target.name for target in ctx.targets}
        prices = prometheus.samples("model:usd_per_million_tokens:mean", needs=("plan:usd_per_hour:sum",))
        idle = prometheus.samples("model:idle_usd_per_hour:sum", needs=("plan:usd_per_hour:sum",))
        allowed = prometheus.samples("plan:usd_per_million_tokens:limit", needs=("plan:usd_per_hour:sum",))
        limits = {one.labels["model"]: one.value for one in allowed}
        found = [
            Finding("dear", f"a million tokens of model {name} cost {one.value:.2f} USD, {limits[name]:g} USD allowed")
            for one in prices
            if (name := one.labels["model"]) in chosen and one.value > limits.get(name, float("inf"))
        ]
        found += [
            Finding("idle", f"model {one.labels['model']} is not asked and costs {one.value:.2f} USD per hour")
            for one in idle
            if one.labels["model"] in chosen
        ]
        return told(found, "no model costs more per token than allowed")

    @step("how much of the capacity is used", writes=False)
    def use(self, ctx: Context) -> Outcome:
        """Compare running requests with the places that are paid for."""
        expression = "max by (model) (avg_over_time(model:requests_running:sum[1h]))"
        running = {one.labels["model"]: one.value for one in clients.of(ctx).prometheus.vector(expression)}
        found = []
        for target in ctx.targets:
            plan = scaling.planned(ctx, target.name)
            places, taken = plan.model.replicas * plan.model.concurrency, running.get(plan.name, 0.0)
            if taken < PARTLY * places:
                said = f"model {plan.name}: {taken:.1f} of {places} places were taken over the last hour"
                more = (
                    f"; models.{plan.name}.replicas={plan.model.replicas} may be lowered"
                    if plan.model.replicas > 1
                    else ""
                )
                found.append(Finding("unused", said + more, None, (), plan.name))
        return told(found, "the capacity is used")

    @step("which tenants have gone", writes=False)
    def tenants(self, ctx: Context) -> Outcome:
        """Name tenants that asked within a day and not within the hour, and keys that are refused."""
        prometheus = clients.of(ctx).prometheus
        gone = prometheus.samples(
            "max by (tenant) (max_over_time(tenant:requests:rate[1d])) > 0"
            " unless max by (tenant) (max_over_time(tenant:requests:rate[1h])) > 0",
            needs=("cluster:tenants_active_1h:count",),
        )
        refused = prometheus.samples(
            'sum(increase(envoy_railwright_responses{code="401"}[1h])) > 0', needs=("cluster:tenants_active_1h:count",)
        )
        names = [one.labels["tenant"] for one in gone]
        found = [Finding("gone", f"tenant {name} has not asked for an hour", None, (), name) for name in names]
        found += [Finding("refused", f"{one.value:.0f} requests of an hour had no valid key (401)") for one in refused]
        return told(found, "every tenant of the last day has asked within the hour")
