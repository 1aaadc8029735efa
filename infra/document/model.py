"""One model as data."""

from __future__ import annotations

from typing import Literal

from infra.document.base import Part


class PoolOfBlocks(Part):
    """The cache of one rank."""

    blocks: int
    bytes_per_block: int
    block_tokens: int
    bytes_per_token: int | None
    """None where layers keep different things, so that one figure would be nonsense."""


class Held(Part):
    """Requests of one length that fit at once."""

    tokens: int
    requests: float


class MemoryPart(Part):
    """Where the memory of the tightest rank goes (bytes)."""

    total_bytes: int
    usable_bytes: int
    """What the engine may ask for."""
    weights_bytes: int
    activation_bytes: int
    runtime_bytes: int
    """Outside PyTorch."""
    graphs_bytes: int
    kv_pool_bytes: int
    """Below zero when it does not fit."""
    headroom_bytes: int
    """What stays free beside all that the engine counts."""
    margin_bytes: int
    """What must stay free; less fails in service, not at the start."""
    rank: str
    starts: bool
    """Whether one longest request fits."""
    fits: bool
    """Whether it starts and goes on."""
    kv_tokens: int
    """As the engine logs them."""
    longest_tokens: int
    pool: PoolOfBlocks | None
    at_once: list[Held]
    notes: list[str]


class ArchitecturePart(Part):
    """The model itself."""

    name: str
    family: str
    parameters: int
    active_parameters: int
    layers: int
    heads: int
    kv_heads: int
    max_context: int
    quantisation: str
    """Of the checkpoint; empty: none."""
    source: str


class LayoutPart(Part):
    """How one replica is dealt to GPUs."""

    gpus: int
    tensor: int
    pipeline: int
    data: int
    expert_parallel: bool


class OptionsPart(Part):
    """Settings of the engine with its defaults filled in."""

    utilisation: float
    max_len: int
    max_seqs: int
    batched_tokens: int
    quantisation: str
    kv_dtype: str
    eager: bool
    speculative_tokens: int


class LoadPart(Part):
    """Load of one replica that speed and cost hold at."""

    prompt: int
    output: int
    concurrency: int


class Spread(Part):
    """A prediction, and where nine measurements of ten lie."""

    expected: float
    low: float
    high: float


class SpeedPart(Part):
    """Speed of one replica."""

    ttft_s: Spread
    tpot_s: Spread
    tokens_per_s: float
    tokens_per_s_per_gpu: float
    promised_tokens_per_s: float
    bound: Literal["memory", "compute", "links"]
    basis: str
    extrapolated: list[str]
    notes: list[str]


class CostPart(Part):
    """What all replicas cost (US dollars)."""

    usd_per_gpu_hour: float
    price_basis: str
    price_as_of: str
    price_source: str
    usd_per_hour: float
    floor_usd_per_hour: float
    share: float
    usd_per_request: float | None
    usd_per_million_in: float | None
    usd_per_million_out: float | None


class StartPart(Part):
    """Time to the first readiness (seconds)."""

    read_s: int
    copy_s: int
    compile_s: int
    capture_s: int
    prompt_s: int
    floor_s: int
    budget_s: int


class OptionPart(Part):
    """A way that meets the goal."""

    layout: LayoutPart
    format: str
    replicas: int
    likely_replicas: int
    gpus: int
    utilisation: float
    max_seqs: int
    batched_tokens: int


class ChoicePart(Part):
    """The cheapest way that meets the goal at the bad end of the error; else the one that likely meets it."""

    best: OptionPart | None
    runner_up: OptionPart | None
    likely: OptionPart | None
    binds: str
    misses: list[str]


class WayPart(Part):
    """The same model run some other way."""

    name: str
    kv_pool_bytes: int
    kv_tokens: int
    longest_tokens: int
    fits: bool


class ServicePart(Part):
    """How a model of a stack is served."""

    pool: str
    image: str
    pod_memory_bytes: int
    cpus: float
    first_host: int
    hosts: int
    leaves: list[int]
    unplaced: int
    grace_s: int
    max_surge: int
    max_unavailable: int
    min_available: int | None


class ModelPart(Part):
    """One model."""

    name: str
    replicas: int
    architecture: ArchitecturePart
    engine: str
    engine_version: str
    gpu: str | None
    layout: LayoutPart
    options: OptionsPart
    memory: MemoryPart
    problems: list[str]
    load: LoadPart | None
    speed: SpeedPart | None
    speed_unknown: str
    """Why there is no speed; empty when there is one."""
    cost: CostPart | None
    start: StartPart | None
    choice: ChoicePart | None
    ways: list[WayPart]
    service: ServicePart | None
    """None for a model without a stack."""
