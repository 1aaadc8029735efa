"""Find why replicas of a model are missing, crash, hang or do not start, and bring them back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.plan.manifests.model import NAMESPACE
from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, given, replicas, told
from runbooks.lib.mitigations import ReplacePod, Restart, RollBack, Silence
from runbooks.serving import _pulse
from runbooks.serving._model import ModelInputs, OfModel, planned

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class RecoverEngine(OfModel, ReplacePod, Restart, RollBack, Silence):
    """Bring back the engines of a model that are down, crash, hang or do not start.

    Kubernetes is asked, and each engine itself; Prometheus is not needed.
    """

    answers = ("EngineDown", "ModelDown", "EngineCrashLooping", "EngineHung", "EngineNotStarting")
    owner = "serving"
    lock = "{stack}/model/{model}"
    risk = "a replica that is replaced serves nobody until its successor is ready"
    expect = timedelta(minutes=5)
    deadline = timedelta(minutes=30)

    class Inputs(ModelInputs):
        """Which model, and which of its pods."""

        pod: str = Field(default="", description="pod at fault; left out: all pods of the model are looked at")
        do: Literal["nothing", "replace_pod", "restart", "roll_back", "silence"] = "nothing"

    @step("how many replicas serve", writes=False)
    def count(self, ctx: Context) -> Outcome:
        """Compare the Deployment with the plan."""
        plan = planned(ctx)
        live = clients.of(ctx).kube.deployments.get(NAMESPACE, plan.name)
        found = list(replicas.missing(live, plan.model.replicas))
        return told(found, f"all {plan.model.replicas} planned replicas of model {plan.name} are ready")

    @step("what is wrong with its pods", writes=False)
    def states(self, ctx: Context) -> Outcome:
        """Look at each pod, its containers, its events and its host, and at pods that are gone."""
        plan, kube = planned(ctx), clients.of(ctx).kube
        pods = kube.pods.of_model(plan.name, deleting=True)
        found = replicas.states(ctx, pods, budget=timedelta(seconds=plan.startup.budget))
        found += replicas.departed(ctx, NAMESPACE, plan.name, pods)
        named = given(ctx).pod
        if named and named not in {pod.name for pod in pods}:
            found.append(Finding("gone", f"pod {NAMESPACE}/{named} is gone", about=named))
        return told(found, f"Kubernetes finds nothing wrong with the {len(pods)} pods of model {plan.name}")

    @step("whether its engines live", writes=False)
    def pulse(self, ctx: Context) -> Outcome:
        """Ask each engine twice: does it answer, and does it make tokens while it has requests."""
        plan = planned(ctx)
        pods = clients.of(ctx).kube.pods.of_model(plan.name)
        return told(_pulse.hung(ctx, pods, plan.engine.port), "every engine that runs answers, and none is stuck")
