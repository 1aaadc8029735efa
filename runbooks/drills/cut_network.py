"""Cut the network between the gateway and every replica of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills import _pods
from runbooks.drills._network import AllReplicas
from runbooks.lib.drill.claims import SLOW, Expects, Holds, Left

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class CutNetwork(AllReplicas):
    """Cut the network between the gateway and every replica of a model.

    All replicas are cut off, as with one of them requests go to the others and nobody fails. Requests are lost while
    the cut lasts, that is the fault; what counts is that none is answered wrong, and that all is well afterwards.
    """

    expects: ClassVar[Expects | None] = Expects(
        "ModelErrorsHigh",
        timedelta(seconds=120),
        "serving/explain_errors",
        "cannot be reached|every retry failed",
        also=("GatewayErrorsHigh", "TenantErrorsHigh", "ErrorBudgetBurnFast", "ErrorBudgetBurnSlow"),
    )
    during: ClassVar[Holds] = Holds(lost=None, cut=None, rejected=None)
    may: ClassVar[Mapping[str, str]] = {"ModelLatencyHigh": SLOW["ModelLatencyHigh"]}

    def fault(self, ctx: Context) -> str:
        """Which way is cut."""
        return f"packets between the gateway and {', '.join(map(str, ctx.targets))} are dropped"

    def left(self, ctx: Context) -> Iterable[Left]:
        """None may be left: that is the fault."""
        model = self.model(ctx)
        yield _pods.replicas_left(ctx, model, takes=len(_pods.ready_pods(ctx, model)), floor=0)

    def verdict(self) -> str:
        """Drop all."""
        return "drop"
