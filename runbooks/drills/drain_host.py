"""Drain a real host under load: its replicas move, no request is lost or cut."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._hosts import real_host
from runbooks.engine.model import Inputs as EngineInputs
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients, drain
from runbooks.lib.drill.claims import Left
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runbooks.engine.context import Context


class DrainHost(Drill):
    """Drain a real host under load: its replicas move, no request is lost or cut."""

    silent_because: ClassVar[str] = "a drain is planned work; HostCordoned comes only when a host stays cordoned"
    forgets: ClassVar[str] = "Prometheus may move too, and where no volume goes with it, it begins anew"
    tokens: ClassVar[int] = 80
    recovers_within: ClassVar[timedelta] = timedelta(minutes=5)
    deadline: ClassVar[timedelta] = timedelta(minutes=15)

    class Inputs(EngineInputs):
        """Which."""

        host: str = ""
        """Host to drain; the last real one by name if left out."""

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The host."""
        yield Target("host", real_host(ctx))

    def refusals(self, ctx: Context) -> Iterator[str]:
        """Those of every drill, and those of every drain."""
        yield from super().refusals(ctx)
        for target in self.targets(ctx):
            yield from drain.refusals(ctx, target.name)

    def left(self, ctx: Context) -> Iterable[Left]:
        """Real hosts that go on."""
        live = [host for host in clients.of(ctx).kube.hosts.list() if not host.simulated and host.ready]
        yield Left("ready real hosts", len(live), 1, 1)

    def fault(self, ctx: Context) -> str:
        """What is drained."""
        return f"{ctx.targets[0]} is drained"

    def inject(self, ctx: Context) -> Outcome:
        """Drain it."""
        return drain.drain(ctx, ctx.targets[0].name, timeout=timedelta(minutes=5))

    def heal(self, ctx: Context) -> Outcome:
        """Let it take pods again."""
        return drain.undo(ctx, "break_it")
