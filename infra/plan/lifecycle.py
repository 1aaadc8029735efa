"""How long a replica takes to stop, and how replicas are replaced; from the longest answer and free GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.engines import Engine
from infra.catalog.targets import TargetFacts
from infra.config.models import Model
from infra.plan.placement import Placement

PROPAGATION_SECONDS = 5
"""On top of stale DNS: endpoints reach the DNS server, and the gateway looks names up every 2 s (seconds)."""


@dataclass(frozen=True, slots=True)
class Shutdown:
    """What happens between SIGTERM and SIGKILL (seconds)."""

    pre_stop: int
    drain: int
    teardown: int
    grace: int
    longest_answer: int
    """Longest answer that the gateway lets through."""

    @property
    def needed(self) -> int:
        """Shortest grace period in which nothing is cut."""
        return self.pre_stop + self.drain + self.teardown


@dataclass(frozen=True, slots=True)
class Rollover:
    """How replicas are replaced, and what an eviction must leave (count)."""

    max_surge: int
    max_unavailable: int
    min_available: int | None
    """None: no disruption budget, since one replica can never be spared and never be kept."""


def shutdown(model: Model, engine: Engine, target: TargetFacts, longest_answer: int) -> Shutdown:
    """Go on serving until nobody asks, give the engine as long as the longest answer, and Kubernetes a little more."""
    pre_stop = target.dns_stale_seconds + PROPAGATION_SECONDS
    drain = round(model.drain.total_seconds()) if model.drain else longest_answer
    needed = pre_stop + drain + engine.teardown_seconds
    # Five seconds more than needed: SIGKILL must lose the race against an exit on time.
    grace = round(model.grace.total_seconds()) if model.grace else needed + 5
    return Shutdown(pre_stop, drain, engine.teardown_seconds, grace, longest_answer)


def rollover(model: Model, placement: Placement) -> Rollover:
    """Surge into free GPUs; without any, give one replica up at a time."""
    if model.rollout:
        surge, unavailable = model.rollout.max_surge, model.rollout.max_unavailable
    else:
        surge, unavailable = (1, 0) if placement.free_replicas >= 1 else (0, 1)
    least = model.min_available
    if least is None and model.replicas > 1:
        least = model.replicas - 1
    return Rollover(surge, unavailable, least)
