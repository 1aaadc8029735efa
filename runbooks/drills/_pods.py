"""Choosing pods to hurt, and what is left of a model or of the gateway then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from infra.errors import ConfigError
from runbooks.lib import clients
from runbooks.lib.drill.claims import Left

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Pod


def real_model(ctx: Context, name: str) -> str:
    """The model to hurt: the one that was named, else the only one on real hosts.

    Raises:
        ConfigError: it is not known, runs on simulated hosts only, or there are several.
    """
    served = [model.name for model in clients.of(ctx).plan.real_models]
    if name and name not in served:
        raise ConfigError(f"model {name!r} — has no replica on a real host — choose one of {', '.join(served)}")
    if not name and len(served) != 1:
        raise ConfigError(f"model — {len(served)} have replicas on real hosts — name one: {', '.join(served)}")
    return name or served[0]


def ready_pods(ctx: Context, model: str) -> Sequence[Pod]:
    """Ready pods of a model, by name, the youngest last."""
    pods = [pod for pod in clients.of(ctx).kube.pods.of_model(model) if pod.ready]
    if not pods:
        raise ConfigError(f"model {model!r} — no pod of it is ready — run serving/recover_engine first")
    return sorted(pods, key=lambda pod: pod.name)


def ready_gateways(ctx: Context) -> Sequence[Pod]:
    """Ready pods of the gateway, by name."""
    pods = [pod for pod in clients.of(ctx).kube.pods.of_gateway() if pod.ready]
    if not pods:
        raise ConfigError("gateway — no pod of it is ready — run gateway/recover_gateway first")
    return sorted(pods, key=lambda pod: pod.name)


def replicas_left(ctx: Context, model: str, *, takes: int = 1, floor: int = 1) -> Left:
    """Replicas that go on serving."""
    return Left(f"ready replicas of model {model!r}", len(ready_pods(ctx, model)), takes, floor)


def gateways_left(ctx: Context, *, takes: int = 1, floor: int = 1) -> Left:
    """Gateway pods that go on serving."""
    return Left("ready gateway pods", len(ready_gateways(ctx)), takes, floor)
