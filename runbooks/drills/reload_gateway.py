"""Roll the gateway out three times in a row under load: no request is lost or cut."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills import _pods
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Left
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context

STORM = 3
"""Rollouts in a row (count)."""


class ReloadGateway(Drill):
    """Roll the gateway out three times in a row under load: no request is lost or cut."""

    silent_because: ClassVar[str] = "a rollout is planned work; nothing may be felt of it"
    tokens: ClassVar[int] = 80
    recovers_within: ClassVar[timedelta] = timedelta(minutes=5)

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The gateway's Deployment."""
        yield Target("deployment", "gateway", "gateway")

    def left(self, ctx: Context) -> Iterable[Left]:
        """Gateway pods that go on: a rollout takes none away."""
        yield _pods.gateways_left(ctx, takes=0)

    def fault(self, ctx: Context) -> str:
        """What is rolled out."""
        return f"{ctx.targets[0]} is rolled out {STORM} times, 5 s apart"

    def inject(self, ctx: Context) -> Outcome:
        """Restart it again and again."""
        deployments = clients.of(ctx).kube.deployments
        live = deployments.get("gateway", "gateway")
        ctx.record(template=live.template)
        for _ in range(STORM):
            deployments.restart("gateway", "gateway")
            ctx.sleep(5)
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Put the template back, without the mark of a restart: one rollout more, as gentle as the others."""
        if told := ctx.facts.get("break_it", {}):
            clients.of(ctx).kube.deployments.put_template("gateway", "gateway", told["template"])
        return Outcome.ok("the gateway's template is as it was")
