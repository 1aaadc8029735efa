"""The plan: everything that follows from a spec, as frozen data; the CLI, Pulumi and the checks all read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from infra.catalog.architecture import Architecture
from infra.catalog.boards import Board
from infra.catalog.engines import Engine
from infra.catalog.fabrics import Access
from infra.catalog.ownership import Ownership
from infra.catalog.prices import Price
from infra.catalog.shapes import Shape
from infra.catalog.targets import TargetFacts
from infra.config.clouds import Cloud
from infra.config.evidence import Evidence
from infra.config.fabric import FabricConfig
from infra.config.gateway import Gateway
from infra.config.keys import Key
from infra.config.machines import Machine
from infra.config.models import Model
from infra.config.pools import Pool
from infra.config.scheduling import Scheduling
from infra.plan.charts import Chart
from infra.plan.cost import Cost
from infra.plan.fabric.access import resources_of
from infra.plan.first_prompt import FirstPrompt
from infra.plan.formats import Format
from infra.plan.gpu_operator.spec import GpuOperatorPlan
from infra.plan.layout import Layout
from infra.plan.lifecycle import Rollover, Shutdown
from infra.plan.memory import Memory
from infra.plan.placement import Placement
from infra.plan.speed import Speed
from infra.plan.standing import Standing
from infra.plan.startup import Startup
from infra.plan.watched import Objectives, ObservabilityPlan

if TYPE_CHECKING:
    from infra.plan.choice import Choice
    from infra.plan.needs import Need


__all__ = ["Objectives", "ObservabilityPlan"]
"""Facts that have a module of their own, and are read from here with the others."""


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
    is_unknown: bool = False
    """Whether nobody can tell from here; it is refused all the same."""

    def __str__(self) -> str:
        doubt = "cannot tell, " if self.is_unknown else ""
        return f"{self.id} {self.key}: {doubt}{self.found}; {self.fix}"


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """One pool with the board of each of its hosts."""

    name: str
    pool: Pool
    board: Board
    target: TargetFacts
    ownership: Ownership
    shape: Shape | None = None
    """Machine type of a cloud; None elsewhere."""
    price: Price | None = None
    """None: nobody says what it costs."""
    machines: tuple[Machine, ...] = ()
    """Its hosts by name; empty where the spec does not name them."""
    access: Access | None = None
    """How pods get at its fabric; None without one, or when nobody knows a way."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Image of each program that its fabric needs on hosts or in pods, as far as the spec names it."""
    plugins_exist: bool = False
    """Whether those on hosts are there already."""

    @property
    def usd_per_hour(self) -> float | None:
        """What all its hosts cost, spares included; None when nobody says (US dollars)."""
        return self.price.usd_per_gpu_hour * max(1, self.board.gpus) * self.pool.hosts if self.price else None

    @property
    def simulated(self) -> bool:
        """Whether its hosts exist in the API only."""
        return self.target.simulates_gpus and self.board.gpu is not None

    @property
    def is_metal(self) -> bool:
        """Whether its hosts are machines of their own; a guest does not see bridges, clocks and power."""
        return self.shape.metal if self.shape else self.target.name != "lab"

    @property
    def gpus(self) -> int:
        """GPUs of the whole pool (count)."""
        return self.pool.hosts * self.board.gpus

    @property
    def runtime_class(self) -> str:
        """Runtime class of a pod with GPUs; empty on a pool without."""
        return self.ownership.runtime_class if self.board.gpu else ""

    @property
    def rails(self) -> int:
        """Network devices of the fabric on one host (count); a NIC of two ports is two."""
        if self.shape:
            return self.shape.rails
        return (len(self.machines[0].rails) if self.machines else 0) or self.board.rails

    @property
    def missing_parts(self) -> list[str]:
        """Programs that its fabric needs and nobody brings."""
        needed = self.access.parts if self.access else ()
        there = self.access.host_parts if self.access and self.plugins_exist else ()
        return [part for part in needed if part not in self.parts and part not in there]

    @property
    def rdma_resources(self) -> Mapping[str, int]:
        """Extended resources of the fabric on one host, with their amounts; empty where pods get it in another way."""
        return resources_of(self)

    @property
    def rdma_devices(self) -> int:
        """RDMA devices that pods may ask of one host (count); 0 where they get the fabric in another way."""
        return sum(self.rdma_resources.values())

    @property
    def rdma_resource(self) -> str:
        """Extended resource of one of them, the first rail's where each has its own; empty where there is none."""
        return next(iter(self.rdma_resources), "")


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
    layout: Layout
    format: Format
    scores: tuple[Evidence, ...]
    """What that format scored on the user's tasks; empty when it needs no score or has none."""
    engine: Engine
    pool: PoolPlan
    image: str
    """Reference with digest; without one as long as the lock is missing."""
    weights_path: str
    """Folder of the weights on each host; empty when they lie on a claim."""
    engine_path: str
    """Folder of the engine on each host; empty when it is in the image."""
    stored: int
    """The checkpoint on disk (bytes)."""
    utilisation: float
    """Share of a GPU's memory that the engine asks for."""
    max_seqs: int
    """Requests in one batch of a rank (count)."""
    batched_tokens: int
    """Tokens in one batch of a rank."""
    memory: Memory
    pod_memory: PodMemory
    cpus: float
    placement: Placement
    first_prompt: FirstPrompt
    startup: Startup
    shutdown: Shutdown
    rollover: Rollover
    standing: Standing
    speed: Speed | None = None
    """Of one replica at the goal's load; None without a goal, or when it cannot be told."""
    cost: Cost | None = None
    """None: nobody says what its pool costs."""
    choice: Choice | None = None
    """The cheapest way to meet the goal; None without one."""

    def refuse(self, rule: str, key: str, found: str, fix: str) -> Refusal:
        """Refuse one of its keys, such as ``max_model_len``."""
        return Refusal(rule, f"models.{self.name}.{key}", found, fix)


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
    ownership: Ownership
    """Who has put driver and toolkit on hosts with GPUs."""
    region: str
    """Where the hosts stand."""
    kubernetes: str
    """Minor version of the API server, such as ``1.36``."""
    protected: bool
    """Whether nothing may take the cluster down in passing."""
    cloud: Cloud | None
    """Where pools of the target's cloud go; None on a target that is on none."""
    needs: tuple[Need, ...]
    """What the cloud's account must have before."""
    fabric: FabricConfig
    """What serves the fabrics of all pools."""
    gpu_operator: GpuOperatorPlan
    """What the GPU Operator does, and who brings it."""
    pools: tuple[PoolPlan, ...]
    models: tuple[ModelPlan, ...]
    gateway: GatewayPlan
    observability: ObservabilityPlan | None
    """None: nothing watches this stack."""
    ssh_config: str
    """Path of the ssh configuration that names the hosts, relative to the clone; empty: the user's own."""
    scheduling: Scheduling
    refusals: tuple[Refusal, ...]
    notes: tuple[str, ...]
    charts: Mapping[str, Chart] = field(default_factory=dict)
    """Every chart that can be installed, by name; ``infra.plan.charts.chart_of`` looks it up."""

    @property
    def served(self) -> list[str]:
        """Names that clients may send as ``model``."""
        return [item.name for item in self.models]

    @property
    def real_models(self) -> list[ModelPlan]:
        """Models whose pool is of real hosts, so that an engine runs and answers."""
        return [item for item in self.models if not item.pool.simulated]
