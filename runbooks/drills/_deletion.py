"""Faults of one pod: it is deleted without grace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbooks.engine.model import Outcome
from runbooks.lib import clients
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class DeletePod(Drill):
    """Delete the pod that is the target; what owns it makes another."""

    def fault(self, ctx: Context) -> str:
        """Which pod goes."""
        return f"{ctx.targets[0]} is deleted without grace"

    def inject(self, ctx: Context) -> Outcome:
        """Delete it."""
        target = ctx.targets[0]
        ctx.record(pod=target.name)
        clients.of(ctx).kube.pods.delete(target.namespace, target.name, grace=0)
        return Outcome.ok(self.fault(ctx))
