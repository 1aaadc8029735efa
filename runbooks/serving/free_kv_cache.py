"""Find what fills the KV cache of a model, and offer what frees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, given, measures, told
from runbooks.lib.mitigations import ReplacePod, RollBack, ScaleUp, ShedTier, Silence
from runbooks.serving._model import ModelInputs, OfModel, ShedInputs, planned, tenants

if TYPE_CHECKING:
    from runbooks.engine.context import Context

FULL = 0.9
"""Part of the cache from which it is called full; below the alert's 0.95, so that it is seen on the way there."""

UNEVEN = 0.3
"""Difference between two replicas from which their load is called uneven. Source: our choice."""


class FreeKvCache(OfModel, ScaleUp, ShedTier, ReplacePod, RollBack, Silence):
    """Explain a full KV cache or requests that are put back: too many, too long, one replica, or a leak."""

    answers = ("ModelKvCacheFull", "ModelPreemptions")
    owner = "serving"
    lock = "{stack}"
    risk = "a tier that is shed is refused with 429; a replica that is replaced serves nobody for a while"

    class Inputs(ModelInputs, ShedInputs):
        """Which model, and which of its pods."""

        pod: str = Field(default="", description="pod to replace; left out: the one at fault")
        do: Literal["nothing", "scale_up", "shed_tier", "replace_pod", "roll_back", "silence"] = "nothing"

    @step("how full the cache of each replica is", writes=False)
    def fill(self, ctx: Context) -> Outcome:
        """Compare replicas; a full cache with no request in the batch is a leak."""
        model = given(ctx).model
        used = _by_pod(ctx, 'max by (pod) (vllm:kv_cache_usage_perc{model="$model"})')
        running = _by_pod(ctx, 'sum by (pod) (vllm:num_requests_running{model="$model"})')
        since = measures.since(ctx, 'max(vllm:kv_cache_usage_perc{model="$model"}) > $full', model=model, full=FULL)
        found = []
        for pod, part in used.items():
            if part < FULL:
                continue
            leaks = running.get(pod, 0) == 0
            what = "no request runs: it leaks" if leaks else f"{running[pod]:g} requests run"
            offers = ("replace_pod",) if leaks else ("scale_up", "shed_tier")
            said = f"the cache of pod {pod} is {part:.0%} full, {what}"
            found.append(Finding("leak" if leaks else "full", said, since, offers, pod))
        if len(used) > 1 and max(used.values()) - min(used.values()) > UNEVEN:
            least, most = min(used, key=lambda p: used[p]), max(used, key=lambda p: used[p])
            found.append(Finding("uneven", f"pod {most} is {used[most]:.0%} full and pod {least} {used[least]:.0%}"))
        return told(found, f"the fullest cache of model {model} is {max(used.values()):.0%} full")

    @step("how many requests are put back", writes=False)
    def preemptions(self, ctx: Context) -> Outcome:
        """Read the rate of preemptions and the part of prompts found in the cache."""
        model, plan = given(ctx).model, planned(ctx)
        rate = clients.of(ctx).prometheus.value('sum(model:preemptions:rate{model="$model"})', unit="1/s", model=model)
        hit = measures.optional(ctx, 'max(model:prefix_cache_hit:ratio{model="$model"})', model=model)
        cached = f"{hit:.0%} of prompt tokens are found in the cache" if hit is not None else "no prompt was looked up"
        if rate == 0:
            return told([], f"no request is put back; {cached}")
        said = (
            f"{rate:.2f} requests per second are put back: models.{model}.concurrency={plan.model.concurrency} "
            f"lets more run than the cache holds; {cached}"
        )
        return told([Finding("preemptions", said, None, ("scale_up", "shed_tier"), model)], "")

    @step("whose requests they are", writes=False)
    def who(self, ctx: Context) -> Outcome:
        """Name the tenants that ask most, and the mean length of prompts."""
        model = given(ctx).model
        mean = measures.optional(
            ctx,
            'sum(model:prompt_tokens:rate{model="$model"}) / (sum(model:answers:rate{model="$model"}) > 0)',
            model=model,
        )
        length = f"prompts have {mean:.0f} tokens on average" if mean is not None else "nothing was answered lately"
        return told(tenants(ctx), f"{length}; no tenant stands out")


def _by_pod(ctx: Context, expression: str) -> dict[str, float]:
    """A value per pod of the model.

    Raises:
        Unknown: no pod gives it.
    """
    found = clients.of(ctx).prometheus.vector(expression, model=given(ctx).model)
    return {one.labels.get("pod", ""): one.value for one in found}
