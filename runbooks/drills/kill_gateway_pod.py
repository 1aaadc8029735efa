"""Delete every gateway pod without grace but one: clients come back to the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills import _pods
from runbooks.drills._deletion import DeletePod
from runbooks.drills._parts import SOON
from runbooks.engine.model import Outcome, Target
from runbooks.lib.drill.claims import FAILING, Holds, Left

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class KillGatewayPod(DeletePod):
    """Delete one gateway pod without grace: clients come back to the other.

    Answers that pass through it are cut, and so are requests that kube-proxy sends there until it knows.
    """

    is_short: ClassVar[bool] = True
    silent_because: ClassVar[str] = (
        "one gateway pod of two is replaced within seconds; GatewayDown is about all of them"
    )
    during: ClassVar[Holds] = Holds(cut=3, lost=6)
    may: ClassVar[Mapping[str, str]] = FAILING
    lasts: ClassVar[timedelta] = SOON / 9

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The last ready gateway pod by name."""
        pod = _pods.ready_gateways(ctx)[-1]
        yield Target("pod", pod.name, pod.namespace)

    def left(self, ctx: Context) -> Iterable[Left]:
        """Gateway pods that go on."""
        yield _pods.gateways_left(ctx)

    def heal(self, ctx: Context) -> Outcome:
        """Nothing to take back: its Deployment makes another."""
        return Outcome.ok("the pod is replaced by itself")
