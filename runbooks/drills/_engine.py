"""Faults of one replica of a model that runs on real hosts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills import _pods
from runbooks.engine.model import Inputs as EngineInputs
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Left
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Pod


class EngineFault(Drill):
    """Hurt one replica of a model; the others go on."""

    recovers_within: ClassVar[timedelta] = timedelta(minutes=4)

    class Inputs(EngineInputs):
        """Which."""

        model: str = ""
        """Model to hurt; the only one on real hosts if left out."""

    def model(self, ctx: Context) -> str:
        """Name of the model."""
        return _pods.real_model(ctx, ctx.inputs.model)  # type: ignore[attr-defined]  # our own Inputs

    def targets(self, ctx: Context) -> Iterable[Target]:
        """One ready pod of it, the last by name."""
        pod = _pods.ready_pods(ctx, self.model(ctx))[-1]
        yield Target("pod", pod.name, pod.namespace)

    def left(self, ctx: Context) -> Iterable[Left]:
        """Replicas that go on serving."""
        yield _pods.replicas_left(ctx, self.model(ctx))

    def pod(self, ctx: Context) -> Pod:
        """The pod to hurt, as it is now."""
        target = ctx.targets[0]
        return clients.of(ctx).kube.pods.get(target.namespace, target.name)

    def heal(self, ctx: Context) -> Outcome:
        """Nothing to take back: Kubernetes starts the replica again by itself."""
        return Outcome.ok("the replica comes back by itself")
