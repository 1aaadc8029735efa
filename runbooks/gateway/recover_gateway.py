"""Find why the gateway is down, rejects its config or counts requests that are not there, and bring it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from infra.errors import Unknown
from infra.plan.envoy.listeners import STAT_PREFIX
from infra.plan.manifests.gateway import NAMESPACE
from runbooks.engine.model import Outcome, step
from runbooks.gateway._door import OfGateway, states
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, given, told
from runbooks.lib.mitigations import ReplacePod, Restart, RollBack, Silence, SilenceInputs

if TYPE_CHECKING:
    from runbooks.engine.context import Context

LOOK_SECONDS = 3.0
"""Between two looks at a pod's counters (s)."""


class RecoverGateway(OfGateway, ReplacePod, Restart, RollBack, Silence):
    """Bring the gateway back: pods that are gone, crash, reject their config, or count requests that left.

    Kubernetes is asked, and each Envoy itself; Prometheus is not needed.
    """

    answers = ("GatewayDown", "GatewayConfigRejected", "GatewayInFlightStuck")
    owner = "gateway"
    lock = "{stack}/gateway"
    risk = "a gateway pod that is replaced drains first; with one replica new clients wait meanwhile"

    class Inputs(SilenceInputs):
        """Which of its pods."""

        pod: str = Field(default="", description="pod at fault; left out: all pods of the gateway are looked at")
        do: Literal["nothing", "replace_pod", "restart", "roll_back", "silence"] = "nothing"

    @step("what is wrong with its pods", writes=False)
    def states(self, ctx: Context) -> Outcome:
        """Compare with the plan; look at each pod, its events, its last words, and at pods that are gone."""
        found = states(ctx)
        named = given(ctx).pod
        if named and named not in {pod.name for pod in clients.of(ctx).kube.pods.of_gateway(deleting=True)}:
            found.append(Finding("gone", f"pod {NAMESPACE}/{named} is gone", about=named))
        return told(found, "all planned gateway pods are ready, and Kubernetes finds nothing wrong with them")

    @step("whether each Envoy answers, and what it counts", writes=False)
    def counters(self, ctx: Context) -> Outcome:
        """Ask each ready pod for its requests in flight, twice; a count that stays with nothing new may be stuck."""
        pods = [pod for pod in clients.of(ctx).kube.pods.of_gateway() if pod.ready]
        if not pods:
            return told([Finding("down", "no gateway pod is ready: clients reach no model", None, ("restart",))], "")
        first = {pod.name: _flight(ctx, pod.name) for pod in pods}
        if any(seen is not None and seen[0] > 0 for seen in first.values()):
            ctx.sleep(LOOK_SECONDS)
        found = []
        for name, before in first.items():
            if before is None:
                said = f"gateway pod {name} hangs: it is ready and its administration does not answer"
                found.append(Finding("hung", said, None, ("replace_pod",), name))
                continue
            after = _flight(ctx, name) if before[0] > 0 else before
            if after is not None and after[0] >= before[0] > 0 and after[1] == before[1]:
                said = f"gateway pod {name} counts {after[0]:.0f} requests in flight and gets no new ones"
                found.append(Finding("in flight", said, None, ("replace_pod",), name))
        total = sum(seen[0] for seen in first.values() if seen is not None)
        return told(found, f"{len(pods)} gateway pods answer, {total:.0f} requests are in flight")


def _flight(ctx: Context, pod: str) -> tuple[float, float] | None:
    """Requests in flight and requests ever, of one pod; None when it does not answer."""
    try:
        stats = clients.of(ctx).gateway.stats(pod, rf"^http\.{STAT_PREFIX}\.downstream_rq_(active|total)$")
    except Unknown as error:
        ctx.say(str(error))
        return None
    prefix = f"http.{STAT_PREFIX}.downstream_rq_"
    return stats.get(f"{prefix}active", 0.0), stats.get(f"{prefix}total", 0.0)
