"""Find where the time of slow answers goes, and offer what shortens it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, given, told
from runbooks.lib.mitigations import RollBack, ScaleUp, ShedTier, Silence
from runbooks.serving import _times
from runbooks.serving._model import ModelInputs, OfModel, ShedInputs, promises, tenants

if TYPE_CHECKING:
    from runbooks.engine.context import Context

BURST = 1.5
"""Times the requests of an hour ago from which the load counts as a burst. Source: our choice."""


class ExplainLatency(OfModel, ScaleUp, ShedTier, RollBack, Silence):
    """Explain slow answers of a model, or a burning error budget: the way, the queue, the prompt or the tokens.

    Compares what clients see at the gateway with what the engines say, so that each part has its share.
    """

    answers = (
        "ModelLatencyHigh",
        "ModelFirstTokenSlow",
        "ModelTokensSlow",
        "ErrorBudgetBurnFast",
        "ErrorBudgetBurnSlow",
    )
    owner = "serving"
    lock = "{stack}"
    risk = "a tier that is shed is refused with 429; a new replica takes its time to load"

    class Inputs(ModelInputs, ShedInputs):
        """Which model, and which promise burns."""

        slo: str = Field(default="", description="promise that burns: availability, first_token, latency or token")
        do: Literal["nothing", "scale_up", "shed_tier", "roll_back", "silence"] = "nothing"

    @step("where the time goes", writes=False)
    def where(self, ctx: Context) -> Outcome:
        """Compare P99 at the gateway with P99 in the engines, part by part."""
        times = _times.read(ctx, given(ctx).model)
        return told(_times.blame(times, promises(ctx)), f"no part is slow: {times}")

    @step("which promises are broken", writes=False)
    def promises(self, ctx: Context) -> Outcome:
        """Look at the shares of bad events within the last hour against the budgets."""
        expression = 'slo:errors:ratio_1h{model="$model"} > on (model, slo) plan:error_budget:ratio{model="$model"}'
        broken = clients.of(ctx).prometheus.samples(expression, needs=("slo:errors:ratio_1h",), model=given(ctx).model)
        found = [
            Finding(
                "promise", f"promise {one.labels.get('slo', '?')}: {one.value:.1%} of the events of an hour broke it"
            )
            for one in broken
        ]
        if any(one.labels.get("slo") == "availability" for one in broken):
            found.append(Finding("promise", "requests fail, which is no matter of latency: see serving/explain_errors"))
        return told(found, "every promise was kept over the last hour")

    @step("whether the load has grown", writes=False)
    def load(self, ctx: Context) -> Outcome:
        """Compare requests with an hour ago, and name who asks most."""
        prometheus, model = clients.of(ctx).prometheus, given(ctx).model
        now = prometheus.value('sum(model:requests:rate{model="$model"})', model=model)
        before = prometheus.samples('sum(model:requests:rate{model="$model"} offset 1h) > 0',
                                    needs=("model:requests:rate",), model=model)  # fmt: skip
        found = []
        if before and now > BURST * before[0].value:
            said = f"{now:.2f} requests per second, {now / before[0].value:.1f} times those of an hour ago"
            found.append(Finding("burst", said, None, ("scale_up", "shed_tier"), model))
        return told([*found, *tenants(ctx)], f"{now:.2f} requests per second, no burst, no tenant stands out")
