"""The plan: everything that follows from a spec, as frozen data; the CLI, Pulumi and the checks all read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from infra.catalog.boards import Board
from infra.catalog.engines import Engine
from infra.catalog.models import Architecture
from infra.catalog.targets import TargetFacts
from infra.config.gateway import Gateway
from infra.config.keys import Key
from infra.config.models import Model
from infra.config.pools import Pool
from infra.plan.lifecycle import Rollover, Shutdown, Startup
from infra.plan.placement import Placement
from infra.plan.sizing import Memory


@dataclass(frozen=True, slots=True)
class Refusal:
    """A failure that is already certain, told before anything is touched."""

    id: str
    """Stable, such as ``RW-101``."""
    key: str
    """Config key at fault, such as ``models.chat.max_model_len``."""
    found: str
    """What was found and what is allowed."""
    fix: str
    """What to do."""

    def __str__(self) -> str:
        return f"{self.id} {self.key}: {self.found}; {self.fix}"


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """One pool with the board of each of its hosts."""

    name: str
    pool: Pool
    board: Board
    target: TargetFacts

    @property
    def simulated(self) -> bool:
        """Whether its hosts exist in the API only."""
        return self.target.simulates_gpus and self.board.gpu is not None

    @property
    def gpus(self) -> int:
        """GPUs of the whole pool (count)."""
        return self.pool.hosts * self.board.gpus

    @property
    def runtime_class(self) -> str:
        """Runtime class of a pod with GPUs; empty on a pool without."""
        return self.target.gpu_runtime_class if self.board.gpu else ""

    @property
    def rdma_devices(self) -> int:
        """RDMA devices of one host (count)."""
        return self.board.rails if self.pool.fabric != "none" else 0


@dataclass(frozen=True, slots=True)
class PodMemory:
    """Host memory of one pod (bytes)."""

    staged: int
    """Weights on their way through host memory."""
    shm: int
    """``/dev/shm``; it counts against the limit."""
    runtime: int
    """Interpreter, engine processes, and on a CPU the cache too."""
    limit: int


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """One model, sized, placed and timed."""

    name: str
    model: Model
    shape: Architecture
    engine: Engine
    pool: PoolPlan
    image: str
    """Reference with digest; without one as long as the lock is missing."""
    weights_path: str
    """Folder of the weights on each host; empty when they lie on a claim."""
    engine_path: str
    """Folder of the engine on each host; empty when it is in the image."""
    memory: Memory
    pod_memory: PodMemory
    cpus: float
    placement: Placement
    startup: Startup
    shutdown: Shutdown
    rollover: Rollover


@dataclass(frozen=True, slots=True)
class GatewayPlan:
    """The gateway with its image, longest answer and grace."""

    gateway: Gateway
    image: str
    longest_answer: int
    """Longest stream that may be answered (seconds)."""
    teardown: int
    """From the last answer to Envoy's exit (seconds)."""
    grace: int
    """Kubernetes' grace period of a gateway pod (seconds)."""
    keys: Mapping[str, Key]
    """Who may ask, by key id; no values."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a stack comes down to."""

    stack: str
    cluster: str
    target: TargetFacts
    pools: tuple[PoolPlan, ...]
    models: tuple[ModelPlan, ...]
    gateway: GatewayPlan
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]

    @property
    def served(self) -> list[str]:
        """Names that clients may send as ``model``."""
        return [item.name for item in self.models]
