"""Kill the engine process with signal 9: its container starts again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._engine import EngineFault
from runbooks.drills._parts import SOON
from runbooks.drills._processes import processes
from runbooks.engine.model import Outcome
from runbooks.lib import clients
from runbooks.lib.drill.claims import FAILING, SLOW, STARTS, Expects, Holds

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Pod

BUSY = timedelta(seconds=30)
"""How long it may take until a replica gets a request, at the rate of this drill."""

RUNNING = "vllm:num_requests_running"
"""Requests that an engine writes answers to (count). Source: vLLM, vllm/v1/metrics/loggers.py."""


class KillEngineProcess(EngineFault):
    """Kill the engine process with signal 9: its container starts again.

    Answers that it is writing are cut. The kill waits until there is one, so that the load may be light: on two cores
    a replica that starts leaves the other little, and answers that pile up are an alert of their own.
    """

    expects: ClassVar[Expects | None] = Expects("StreamsCut", SOON, "serving/explain_errors", "cut|replica")
    during: ClassVar[Holds] = Holds(cut=10)
    may: ClassVar[Mapping[str, str]] = {**FAILING, **SLOW, **STARTS}
    tokens: ClassVar[int] = 300
    rate: ClassVar[float] = 0.7

    def fault(self, ctx: Context) -> str:
        """Which process dies."""
        return f"the engine of {ctx.targets[0]} is killed with signal 9"

    def inject(self, ctx: Context) -> Outcome:
        """Kill it as soon as it writes an answer."""
        pod = self.pod(ctx)
        pids = processes(ctx, pod, "vllm")
        ctx.record(pod=pod.name, pids=pids)
        ctx.until(lambda: self._writes(ctx, pod), timeout=BUSY, every=0.05, what=f"{ctx.targets[0]} writes an answer")
        clients.of(ctx).hosts.run(pod.host, ["kill", "-KILL", *map(str, pids)])
        return Outcome.ok(self.fault(ctx))

    def _writes(self, ctx: Context, pod: Pod) -> bool | None:
        """True while it has requests that run."""
        c = clients.of(ctx)
        port = next(model.engine.port for model in c.plan.real_models if model.name == self.model(ctx))
        page = c.kube.pods.http(pod.namespace, pod.name, port, "/metrics")
        values = [float(line.rsplit(" ", 1)[1]) for line in page.splitlines() if line.startswith(f"{RUNNING}{{")]
        return True if any(values) else None
