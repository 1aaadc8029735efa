"""Find why a model is slow while its GPUs are idle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, given, measures, told
from runbooks.lib.mitigations import RollBack, Silence
from runbooks.serving import _times
from runbooks.serving._model import ModelInputs, OfModel, planned, promises

if TYPE_CHECKING:
    from runbooks.engine.context import Context

IDLE = 0.3
"""Use below which GPUs are called idle (ratio). Source: the alert ModelSlowAtLowGpuUse."""

BUSY = 0.9
"""Use from which the CPUs of a host are called busy (ratio). Source: our choice."""


class UseGpus(OfModel, RollBack, Silence):
    """Explain slow answers at low use of GPUs: CPUs, the way to the engine, few requests, or something else waited for.

    More replicas do not help here; what starves the GPUs must go.
    """

    answers = ("ModelSlowAtLowGpuUse",)
    owner = "serving"
    lock = "{stack}/model/{model}"
    risk = "a rollback replaces every pod of the model"

    class Inputs(ModelInputs):
        """Which model."""

        do: Literal["nothing", "roll_back", "silence"] = "nothing"

    def refusals(self, ctx: Context) -> Iterator[str]:
        """Without GPUs there is nothing to use."""
        yield from super().refusals(ctx)
        plan = planned(ctx)
        if plan.pool.board.gpu is None:
            yield (
                f"model {plan.name!r} — its pool {plan.pool.name!r} has no GPUs — this is about GPUs that idle — "
                f"see serving/explain_latency"
            )

    @step("how much its GPUs do", writes=False)
    def gpus(self, ctx: Context) -> Outcome:
        """Read the use of the GPUs on the model's hosts."""
        model = given(ctx).model
        use = clients.of(ctx).prometheus.value('max(model:gpu_use:ratio{model="$model"})', unit="GPU use", model=model)
        since = measures.since(ctx, 'max(model:gpu_use:ratio{model="$model"}) < $idle', model=model, idle=IDLE)
        found = [Finding("idle", f"the GPUs of model {model} work {use:.0%} of the time", since)] if use < IDLE else []
        return told(found, f"the GPUs of model {model} work {use:.0%} of the time, which is not idle")

    @step("what the requests wait for", writes=False)
    def waits(self, ctx: Context) -> Outcome:
        """Look at the way, the CPUs of its hosts, and requests that are put off for something else than room."""
        prometheus, plan = clients.of(ctx).prometheus, planned(ctx)
        found = _times.blame(_times.read(ctx, plan.name), promises(ctx))
        deferred = measures.optional(
            ctx, 'sum(vllm:num_requests_waiting_by_reason{model="$model", reason="deferred"}) > 0', model=plan.name
        )
        if deferred:
            said = f"{deferred:g} requests wait for something else than room: a grammar, an adapter or a remote cache"
            found.append(Finding("deferred", said, None, ("roll_back",), plan.name))
        busy = prometheus.samples(
            'host:cpu_used:ratio{pool="$pool"} > $busy', needs=("host:cpu_used:ratio",), pool=plan.pool.name, busy=BUSY
        )
        for one in busy:
            host = one.labels.get("host", "?")
            said = f"the CPUs of host {host} are {one.value:.0%} busy: they feed the GPUs; see host/relieve_host"
            found.append(Finding("cpu", said, None, (), host))
        running = prometheus.value('sum(vllm:num_requests_running{model="$model"})', model=plan.name)
        if running < plan.model.concurrency * plan.model.replicas * IDLE:
            found.append(Finding("few", f"only {running:g} requests run: batches are small, so GPUs idle by nature"))
        return told(found, "nothing is waited for that is known here")
