"""How long a replica takes to start, to stop and to be replaced; all from bytes, bandwidth and free GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from infra.catalog.boards import Board
from infra.catalog.engines import Engine
from infra.catalog.models import Architecture
from infra.catalog.targets import TargetFacts
from infra.config.models import Model
from infra.plan.placement import Placement
from infra.plan.sizing import BF16_BYTES
from infra.units import GB

STARTUP_FLOOR_SECONDS = 600
"""No budget below this: a slow first start is cheaper than a restart loop. Source: serving checklist, the
smallest budget that public charts use for large models."""

STARTUP_MARGIN = 1.5
"""Factor over the computed time, for a busy disk and a cold page cache."""

PROGRESS_MARGIN_SECONDS = 300
"""On top of the startup budget before a rollout counts as stuck: image pull and scheduling."""

PROPAGATION_SECONDS = 5
"""On top of stale DNS: endpoints reach the DNS server, and the gateway looks names up every 2 s (seconds)."""


@dataclass(frozen=True, slots=True)
class Startup:
    """Time to the first readiness (seconds)."""

    read: int
    """Weights from storage to host memory."""
    copy: int
    """Host memory to GPUs, all ranks of a host side by side."""
    compile: int
    """Compile and graph capture, cold."""
    floor: int
    """The sum; a budget below it cannot hold."""
    budget: int
    """What the startup probe allows."""
    progress_deadline: int


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


def startup(model: Model, shape: Architecture, board: Board, engine: Engine) -> Startup:
    """Add up how long the first readiness takes, unless the spec says how long it may."""
    weights = shape.parameters * BF16_BYTES
    read = ceil(weights / (model.weights.read_gb_s * GB))
    copy = ceil(weights / model.tensor_parallel / (board.gpu.pcie_gb_s * GB)) if board.gpu else 0
    compile_seconds = engine.compile_seconds if board.gpu else 0
    floor = read + copy + compile_seconds
    budget = max(STARTUP_FLOOR_SECONDS, ceil(floor * STARTUP_MARGIN / 10) * 10)
    if model.startup_budget:
        budget = round(model.startup_budget.total_seconds())
    deadline = budget + PROGRESS_MARGIN_SECONDS
    if model.progress_deadline:
        deadline = round(model.progress_deadline.total_seconds())
    return Startup(read, copy, compile_seconds, floor, budget, deadline)


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
