"""Take a real host's memory until little is left."""

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

UNIT = "railwright-drill-memory"
"""Transient unit of systemd: it ends by itself, also when nobody is left to end it."""

ON = r"""free=$(awk '/^MemAvailable/ {a=$2} /^MemTotal/ {t=$2} END {print int((a - t * 0.04) * 1024)}' /proc/meminfo)
exec systemd-run --unit="$1" --collect --property=OOMScoreAdjust=1000 --property=RuntimeMaxSec=600 \
  sh -c "{ head -c $free /dev/zero; exec sleep infinity; } | tail"
"""
"""Shell words: hold all but 4 % of the memory; first to go when the kernel needs some.

``tail`` keeps what may be the last lines until its input ends; then it would print and free them, so that never ends.
"""

OFF = 'systemctl stop "$0" || true'
"""Shell words: end the unit, which may have ended already."""


class PressMemory(Drill):
    """Take a real host's memory until little is left."""

    not_in_lab: ClassVar[str] = (
        "hosts of the lab share one kernel and one memory with the machine they run on, whose other work would be "
        "killed; it runs on hosts of their own with systemd, over ssh"
    )
    expects: ClassVar[Expects | None] = Expects(
        "HostMemoryLow", timedelta(minutes=4), "host/relieve_host", f"memory|{UNIT}"
    )

    class Inputs(EngineInputs):
        """Where."""

        host: str = ""
        """Host; the last real one by name if left out."""

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The host."""
        yield Target("host", real_host(ctx))

    def fault(self, ctx: Context) -> str:
        """What is taken."""
        return f"all but 4 % of the memory of {ctx.targets[0]} is taken"

    def inject(self, ctx: Context) -> Outcome:
        """Start the unit."""
        host = ctx.targets[0].name
        ctx.record(host=host)
        done = clients.of(ctx).hosts.run(host, ["sh", "-c", ON, "press", UNIT])
        if not done.is_ok:
            raise CheckError(f"host {host} — unit {UNIT} does not start: {done.stderr.strip()} — see systemctl there")
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Stop it."""
        if told := ctx.facts.get("break_it", {}):
            clients.of(ctx).hosts.run(told["host"], ["sh", "-c", OFF, UNIT])
        return Outcome.ok("the memory is free again")
