"""Find why requests fail or answers are cut, and whom it hits."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.plan.manifests.model import NAMESPACE
from runbooks.engine.model import Outcome, Target, step
from runbooks.lib import clients, scaling
from runbooks.lib.diagnosis import Background, Finding, given, replicas, responses, told
from runbooks.lib.mitigations import ReplacePod, Restart, RollBack, ScaleUp, ShedTier, Silence
from runbooks.serving import _pulse
from runbooks.serving._model import ShedInputs

if TYPE_CHECKING:
    from infra.plan.facts import ModelPlan
    from runbooks.engine.context import Context


class ExplainErrors(Background, ReplacePod, Restart, RollBack, ScaleUp, ShedTier, Silence):
    """Explain failed requests and cut answers, of a model or of a tenant, from the gateway's counts and the pods."""

    answers = ("ModelErrorsHigh", "StreamsCut", "TenantErrorsHigh")
    owner = "serving"
    lock = "{stack}"
    risk = "a replica that is replaced serves nobody until its successor is ready"

    class Inputs(ShedInputs):
        """Which model or which tenant; neither: all of them."""

        model: str = Field(default="", description="model; left out: all models")
        tenant: str = Field(default="", description="tenant; left out: all tenants")
        pod: str = Field(default="", description="pod to replace; left out: the one at fault")
        do: Literal["nothing", "replace_pod", "restart", "roll_back", "scale_up", "shed_tier", "silence"] = "nothing"

    def workload(self, ctx: Context) -> tuple[str, str] | None:
        """The model's Deployment, where one model is meant."""
        return (NAMESPACE, given(ctx).model) if given(ctx).model else None

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The models that are looked at."""
        yield from (Target("model", plan.name) for plan in _models(ctx))

    @step("what is wrong with the replicas", writes=False)
    def states(self, ctx: Context) -> Outcome:
        """Look at replicas, pods and hosts of each model."""
        kube, found = clients.of(ctx).kube, list[Finding]()
        for plan in _models(ctx):
            pods = kube.pods.of_model(plan.name, deleting=True)
            found += replicas.missing(kube.deployments.get(NAMESPACE, plan.name), plan.model.replicas)
            found += replicas.states(ctx, pods, budget=timedelta(seconds=plan.startup.budget))
            found += replicas.departed(ctx, NAMESPACE, plan.name, pods)
        return told(found, "Kubernetes finds nothing wrong with the pods")

    @step("whether the engines live", writes=False)
    def pulse(self, ctx: Context) -> Outcome:
        """Ask each engine twice."""
        kube = clients.of(ctx).kube
        found = [one for plan in _models(ctx)
                 for one in _pulse.hung(ctx, kube.pods.of_model(plan.name), plan.engine.port)]  # fmt: skip
        return told(found, "every engine that runs answers by way of the API server; if the gateway cannot reach it, "
                           "the network between them is cut")  # fmt: skip

    @step("what fails", writes=False)
    def failures(self, ctx: Context) -> Outcome:
        """Count failures by cause, and cut answers, as the gateway saw them."""
        who = {"model": given(ctx).model, "tenant": given(ctx).tenant}
        found = [*responses.failures(ctx, **who), *responses.cuts(ctx, **who)]
        return told(found, f"no request failed and none was cut within {responses.window(ctx)}")


def _models(ctx: Context) -> list[ModelPlan]:
    """The model that is meant, or all.

    Raises:
        ConfigError: the stack serves no such model.
    """
    model = given(ctx).model
    return [scaling.planned(ctx, model)] if model else list(clients.of(ctx).plan.models)
