"""Double the requests for a while, then none: whatever counts requests in flight must be at zero."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from infra.errors import CheckError, Unknown
from runbooks.drills import _pods
from runbooks.engine.model import Inputs as EngineInputs
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill import health
from runbooks.lib.drill.claims import Holds, Left
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context

BURST = 2.0
"""Times the usual rate."""

LAB_SECONDS, SECONDS = 60.0, 600.0
"""How long the burst lasts by default, in the lab and elsewhere (s)."""

GAUGES = r"^(http\.api\.downstream_rq_active|cluster\.model/.*\.upstream_rq(_pending)?_active)$"
"""Envoy's counts of requests in flight, at the door and per model."""

ZERO_WITHIN = timedelta(seconds=30)
"""How long counters may take to return to zero after the last answer."""


class BurstTraffic(Drill):
    """Double the requests for a while, then none: whatever counts requests in flight must be at zero."""

    silent_because: ClassVar[str] = (
        "twice the usual load is what replicas are planned for: ModelTokensSlow or ModelRequestsWaiting would mean "
        "that they are too few"
    )
    after: ClassVar[Holds] = Holds(answered=0)
    deadline: ClassVar[timedelta] = timedelta(minutes=20)

    class Inputs(EngineInputs):
        """How long."""

        seconds: float | None = Field(default=None, ge=10, le=3600, description="length of the burst")

    def seconds(self, ctx: Context) -> float:
        """Length of the burst (s)."""
        given: float | None = ctx.inputs.seconds  # type: ignore[attr-defined]  # our own Inputs
        return given or (LAB_SECONDS if clients.of(ctx).plan.target.name == "lab" else SECONDS)

    def load(self, ctx: Context) -> Iterable[tuple[float, float | None]]:
        """As usual, twice as much, none."""
        return [(self.rate, health.BASELINE_SECONDS), (BURST * self.rate, self.seconds(ctx)), (0.0, None)]

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The gateway."""
        yield Target("deployment", "gateway", "gateway")

    def left(self, ctx: Context) -> Iterable[Left]:
        """Nothing is taken away."""
        yield _pods.gateways_left(ctx, takes=0)

    def fault(self, ctx: Context) -> str:
        """How many requests come."""
        return f"{BURST * self.rate:g} requests/s for {self.seconds(ctx):.0f} s, then none"

    def inject(self, ctx: Context) -> Outcome:
        """Watch the burst go by; the load is the fault."""
        end = time.monotonic() + self.seconds(ctx)
        while not ctx.dry and (rest := end - time.monotonic()) > 0:
            self.safe(ctx)
            ctx.sleep(min(1.0, rest))
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Nothing to take back: the load ends with its process."""
        return Outcome.ok("no more requests are sent")

    def judge(self, ctx: Context) -> Iterable[str]:
        """Counters of the gateway's pods and of the engines are at zero."""
        try:
            ctx.until(lambda: _idle(ctx), timeout=ZERO_WITHIN, what="requests in flight at zero")
        except CheckError:
            yield from (f"{name} is {value:g}, not 0" for name, value in _in_flight(ctx) if value)


def _idle(ctx: Context) -> bool | None:
    return None if any(value for _, value in _in_flight(ctx)) else True


def _in_flight(ctx: Context) -> Iterator[tuple[str, float]]:
    """Each counter, by pod and name.

    Raises:
        Unknown: a pod has none of them, which says nothing about zero.
    """
    c = clients.of(ctx)
    for pod in _pods.ready_gateways(ctx):
        found = c.gateway.stats(pod.name, GAUGES)
        if not found:
            raise Unknown(f"gateway pod {pod.name} — has no counter of requests in flight — see {GAUGES}")
        yield from ((f"{pod.name} {name}", value) for name, value in found.items())
    for sample in c.prometheus.vector("sum by (pod) (vllm:num_requests_running + vllm:num_requests_waiting)"):
        yield f"{sample.labels.get('pod', 'engine')} requests", sample.value
