"""What the runbooks of the gateway share: its Deployment, its pods, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from infra.errors import ConfigError, Unknown
from infra.plan.manifests.gateway import NAME, NAMESPACE
from runbooks.engine.model import Target
from runbooks.lib import clients
from runbooks.lib.diagnosis import Background, Finding, replicas

if TYPE_CHECKING:
    from runbooks.engine.context import Context

BUDGET = timedelta(minutes=1)
"""How long a gateway pod may take to become ready. Source: startup probe of the plan, 60 times 1 s."""

LAST_LINES = 40
"""Lines of a container's output in which its last error is sought (count)."""


class OfGateway(Background):
    """A runbook about the gateway."""

    def workload(self, ctx: Context) -> tuple[str, str] | None:
        """The gateway's Deployment."""
        return NAMESPACE, NAME

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The Deployment and its pods."""
        yield Target("deployment", NAME, NAMESPACE)
        yield from (Target("pod", pod.name, NAMESPACE) for pod in clients.of(ctx).kube.pods.of_gateway())


def states(ctx: Context) -> list[Finding]:
    """Replicas that lack, pods at fault with Envoy's last words, and pods that ended lately."""
    found = clients.of(ctx)
    pods = found.kube.pods.of_gateway(deleting=True)
    live = found.kube.deployments.get(NAMESPACE, NAME)
    result = list(replicas.missing(live, found.plan.gateway.gateway.replicas))
    faults = replicas.states(ctx, pods, budget=BUDGET)
    return [*result, *faults, *_last_words(ctx, faults), *replicas.departed(ctx, NAMESPACE, NAME, pods)]


def _last_words(ctx: Context, faults: Iterable[Finding]) -> list[Finding]:
    """What Envoy printed before it ended: a config it rejects is told there."""
    kube, result = clients.of(ctx).kube, list[Finding]()
    for name in sorted({one.about for one in faults if one.fault in ("crash loop", "ended")}):
        try:
            lines = kube.pods.logs(NAMESPACE, name, tail=LAST_LINES, previous=True)
        except (ConfigError, Unknown) as error:
            ctx.say(f"what pod {NAMESPACE}/{name} printed is not known: {error}")
            continue
        told = [line for line in lines if "critical" in line or "error initializing" in line]
        if told:
            said = f"Envoy of pod {name} rejects its configuration: {told[-1].strip()[:200]}"
            result.append(Finding("config rejected", said, None, ("roll_back",), name))
    return result
