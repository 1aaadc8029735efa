"""Kill the engine process with signal 9: its container starts again."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._engine import EngineFault
from runbooks.drills._parts import SOON
from runbooks.drills._processes import processes
from runbooks.engine.model import Outcome
from runbooks.lib import clients
from runbooks.lib.drill.claims import Expects, Holds

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class KillEngineProcess(EngineFault):
    """Kill the engine process with signal 9: its container starts again.

    Answers that it is writing are cut; those of this drill take seconds, so that each replica always writes several.
    """

    expects: ClassVar[Expects | None] = Expects("StreamsCut", SOON, "serving/explain_errors", "cut|replica")
    during: ClassVar[Holds] = Holds(cut=10)
    tokens: ClassVar[int] = 400
    rate: ClassVar[float] = 1.0

    def fault(self, ctx: Context) -> str:
        """Which process dies."""
        return f"the engine of {ctx.targets[0]} is killed with signal 9"

    def inject(self, ctx: Context) -> Outcome:
        """Kill it."""
        pod = self.pod(ctx)
        pids = processes(ctx, pod, "vllm")
        ctx.record(pod=pod.name, pids=pids)
        clients.of(ctx).hosts.run(pod.host, ["kill", "-KILL", *map(str, pids)])
        return Outcome.ok(self.fault(ctx))
