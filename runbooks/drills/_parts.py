"""Faults of one service of a host, such as the kubelet: stopped for a while, started again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.engine.model import Inputs as EngineInputs
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context

CONTROL_HOST = "lab-0"
"""Host whose services the lab's control plane are; on other targets drills name theirs."""


class StopService(Drill):
    """Stop one service of a host, and start it again."""

    needs_lab: ClassVar[bool] = True
    service: ClassVar[str] = ""

    class Inputs(EngineInputs):
        """Where."""

        host: str = CONTROL_HOST

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The service, by host and name."""
        yield Target("service", self.service, ctx.inputs.host)  # type: ignore[attr-defined]  # our own Inputs

    def fault(self, ctx: Context) -> str:
        """What is stopped."""
        return f"service {self.service} of host {ctx.targets[0].namespace} is stopped"

    def inject(self, ctx: Context) -> Outcome:
        """Stop it."""
        host = ctx.targets[0].namespace
        ctx.record(host=host, service=self.service)
        clients.of(ctx).hosts.service(host, self.service, "stop")
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Start it."""
        told = ctx.facts.get("break_it", {})
        if not told:
            return Outcome.ok("nothing was stopped")
        clients.of(ctx).hosts.service(told["host"], told["service"], "start")
        return Outcome.ok(f"service {told['service']} of host {told['host']} runs")


SOON = timedelta(seconds=90)
"""Longest wait for an alert at the lab's pace: a minute of holding is 6 s there, scrapes come every 5 to 15 s."""
