"""Start services of a host that should run and do not."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis.finding import findings
from runbooks.lib.mitigations.remedy import Remedy

if TYPE_CHECKING:
    from runbooks.engine.context import Context

ACTIONS = {"stopped": "start", "paused": "continue", "failing": "restart"}
"""What helps a service in each state."""


class StartService(Remedy):
    """``do=start_service``: start what was found not to run; one that hangs on a signal goes on."""

    def until_well(self, ctx: Context) -> None:
        """Wait for what the services bring back; nothing unless a runbook knows what."""

    @step("see that a start helps", writes=False, only="start_service")
    def start_service_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if all services run."""
        return self.fit(ctx, "start_service")

    # Nothing to undo: the plan wants these services to run, and nobody wants them stopped again.
    @step("start what does not run", only="start_service", timeout=timedelta(minutes=10))
    def start_service(self, ctx: Context) -> Outcome:
        """Start each service that was found at fault, in the order in which they need each other."""
        hosts, done = clients.of(ctx).hosts, []
        for service in dict.fromkeys(one.about for one in findings(ctx) if "start_service" in one.offers):
            host, _, name = service.partition("/")
            action = ACTIONS.get(hosts.service_state(host, name))
            if action is None:
                continue
            ctx.record(**{f"{action} {name}": host})
            hosts.service(host, name, action)
            done.append(f"{name} of host {host}")
        self.until_well(ctx)
        return Outcome.ok(f"{', '.join(done)} run again" if done else "they all run by now")
