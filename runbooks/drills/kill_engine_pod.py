"""Delete one replica's pod without grace: the others take over."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills import _pods
from runbooks.drills._engine import EngineFault
from runbooks.drills._parts import SOON
from runbooks.engine.model import Outcome
from runbooks.lib.drill.claims import Expects, Holds

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class KillEnginePod(EngineFault):
    """Delete one replica's pod without grace: the others take over.

    Answers that the pod is writing are cut: a stream cannot move to another replica. A few requests that reach the
    engine while it ends without a drain get its 500, which is not asked again elsewhere: a request that kills an
    engine must not be handed to the next one.
    """

    is_short: ClassVar[bool] = True
    expects: ClassVar[Expects | None] = Expects(
        "EngineDown", SOON, "serving/recover_engine", "starting|not ready|missing"
    )
    during: ClassVar[Holds] = Holds(cut=3, lost=6)
    recovers_within: ClassVar[timedelta] = timedelta(minutes=4)

    def fault(self, ctx: Context) -> str:
        """Which pod goes."""
        return f"{ctx.targets[0]} is deleted without grace"

    def inject(self, ctx: Context) -> Outcome:
        """Delete it."""
        _pods.delete_without_grace(ctx)
        return Outcome.ok(self.fault(ctx))
