"""Stop the engine process without ending it: it takes requests and gives no token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._engine import EngineFault
from runbooks.drills._parts import SOON
from runbooks.drills._processes import processes
from runbooks.engine.model import Outcome
from runbooks.lib import clients
from runbooks.lib.drill.claims import FAILING, SLOW, STARTS, Expects, Holds

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class HangEngine(EngineFault):
    """Stop the engine process without ending it: it takes requests and gives no token.

    Requests on it wait until it goes on or its container is restarted; those may be cut, none may be wrong.
    """

    expects: ClassVar[Expects | None] = Expects("EngineHung", SOON, "serving/recover_engine", "no token|hung|hang")
    during: ClassVar[Holds] = Holds(lost=3, cut=20)
    may: ClassVar[Mapping[str, str]] = {**FAILING, **SLOW, **STARTS}

    def fault(self, ctx: Context) -> str:
        """Which process hangs."""
        return f"the engine of {ctx.targets[0]} is stopped with SIGSTOP"

    def inject(self, ctx: Context) -> Outcome:
        """Stop it."""
        pod = self.pod(ctx)
        pids = processes(ctx, pod, "vllm")
        ctx.record(host=pod.host, pids=pids, uid=pod.uid)
        clients.of(ctx).hosts.run(pod.host, ["kill", "-STOP", *map(str, pids)])
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Let it go on; processes that a probe has ended meanwhile are gone, and that is well too."""
        if told := ctx.facts.get("break_it", {}):
            # Their cgroup is looked at, as a number may belong to another process by now.
            command = 'for p in "$@"; do grep -qs "$0" /proc/$p/cgroup && kill -CONT $p; done; true'
            clients.of(ctx).hosts.run(told["host"], ["sh", "-c", command, told["uid"], *map(str, told["pids"])])
        return Outcome.ok("the engine goes on")
