"""Set the clock of a real host ahead."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from infra.errors import CheckError
from runbooks.drills._hosts import real_host
from runbooks.engine.model import Inputs as EngineInputs
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Expects
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context

AHEAD = timedelta(seconds=10)

ON = 'systemctl stop "$(systemctl list-units --plain --no-legend chronyd.service chrony.service | cut -d" " -f1)" && \
date -s "+$1 seconds"'
OFF = "systemctl start chronyd 2>/dev/null || systemctl start chrony && chronyc waitsync 30 0.1 0 1 || chronyc makestep"


class JumpClock(Drill):
    """Set the clock of a real host ahead.

    Its time server puts it right again when chrony runs; that is the undo.
    """

    not_in_lab: ClassVar[str] = (
        "hosts of the lab have the clock of the machine they run on, and no drill sets that; it runs on hosts of "
        "their own with chrony, over ssh"
    )
    expects: ClassVar[Expects | None] = Expects("HostClockSkewed", timedelta(minutes=4), "host/retune_host", "clock")

    class Inputs(EngineInputs):
        """Where."""

        host: str = ""
        """Host; the last real one by name if left out."""

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The host."""
        yield Target("host", real_host(ctx))

    def fault(self, ctx: Context) -> str:
        """How far."""
        return f"the clock of {ctx.targets[0]} is set {AHEAD.total_seconds():.0f} s ahead, its time server off"

    def inject(self, ctx: Context) -> Outcome:
        """Stop chrony, and set it."""
        host = ctx.targets[0].name
        ctx.record(host=host)
        done = clients.of(ctx).hosts.run(host, ["sh", "-c", ON, "jump", f"{AHEAD.total_seconds():.0f}"])
        if not done.is_ok:
            raise CheckError(f"host {host} — its clock cannot be set: {done.stderr.strip()} — see that chrony runs")
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Start chrony, and have it step."""
        if told := ctx.facts.get("break_it", {}):
            done = clients.of(ctx).hosts.run(told["host"], ["sh", "-c", OFF], timeout=120)
            if not done.is_ok:
                raise CheckError(f"host {told['host']} — its clock is not kept: {done.stderr.strip()}")
        return Outcome.ok("the clock is kept again")
