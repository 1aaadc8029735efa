"""Find why requests wait for a model, and offer what shortens the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from infra.plan.manifests.model import NAMESPACE
from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, given, measures, replicas, told
from runbooks.lib.mitigations import ScaleUp, ShedTier, Silence
from runbooks.serving._model import ModelInputs, OfModel, ShedInputs, planned, tenants

if TYPE_CHECKING:
    from runbooks.engine.context import Context

FULL = 0.9
"""Part of the KV cache, or of the batch, from which it is called full. Source: our choice."""


class ClearBacklog(OfModel, ScaleUp, ShedTier, Silence):
    """Explain why requests wait for a model: too many come, too few replicas serve, or batch or cache are full."""

    answers = ("ModelRequestsWaiting",)
    owner = "serving"
    lock = "{stack}"
    risk = "a tier that is shed is refused with 429; a new replica takes its time to load"

    class Inputs(ModelInputs, ShedInputs):
        """Which model."""

        do: Literal["nothing", "scale_up", "shed_tier", "silence"] = "nothing"

    @step("how many requests wait, and since when", writes=False)
    def queue(self, ctx: Context) -> Outcome:
        """Read what the engines say of their queues."""
        prometheus, model = clients.of(ctx).prometheus, given(ctx).model
        waiting = prometheus.value('sum(vllm:num_requests_waiting{model="$model"})', unit="requests", model=model)
        if waiting == 0:
            return told([], f"no request waits for model {model}")
        since = measures.since(ctx, 'sum(vllm:num_requests_waiting{model="$model"}) > 0', model=model)
        said = f"{waiting:g} requests wait for model {model}"
        return told([Finding("queue", said, since, ("scale_up", "shed_tier"), model)], "")

    @step("what they wait for", writes=False)
    def room(self, ctx: Context) -> Outcome:
        """Look at batches, KV cache and missing replicas."""
        prometheus, plan = clients.of(ctx).prometheus, planned(ctx)
        running = prometheus.value('sum(vllm:num_requests_running{model="$model"})', model=plan.name)
        used = prometheus.value('max(vllm:kv_cache_usage_perc{model="$model"})', model=plan.name)
        live = clients.of(ctx).kube.deployments.get(NAMESPACE, plan.name)
        found = list(replicas.missing(live, plan.model.replicas))
        most = plan.model.concurrency * max(live.ready, 1)
        if used >= FULL:
            found.append(
                Finding("cache", f"the KV cache is {used:.0%} full; see serving/free_kv_cache", None, ("scale_up",))
            )
        if running >= FULL * most:
            said = f"the batches are full: {running:g} requests run, {most} have a place"
            found.append(Finding("batch", said, None, ("scale_up", "shed_tier")))
        return told(found, f"{running:g} of {most} places in the batches are taken, the KV cache is {used:.0%} full")

    @step("who asks", writes=False)
    def who(self, ctx: Context) -> Outcome:
        """Compare what comes with what is answered, and name the tenants that ask most."""
        prometheus, model = clients.of(ctx).prometheus, given(ctx).model
        answered = prometheus.value('sum(model:answers:rate{model="$model"})', unit="1/s", model=model)
        return told(tenants(ctx), f"{answered:.2f} answers per second, no tenant stands out")
