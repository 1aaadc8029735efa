"""Models: what is served, by which engine, on which pool, and from where its weights come."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from infra.config.base import Duration, Frozen, Labels, Name
from infra.config.formats import CacheFormat, Quantisation
from infra.config.goal import Goal
from infra.config.scheduling import Tier

MOST_REPLICAS = 4096
"""Replicas of one model at most (count). Source: our choice; as many as a pool may have hosts."""

Positive = Annotated[int, Field(ge=1)]


CUDA_PATTERN = r"^\d{2}\.\d$"
"""A version of CUDA such as 13.0, in quotes."""


class Shape(Frozen):
    """Shape of a model that the catalog does not know, as its ``config.json`` says."""

    layers: Positive
    hidden: Positive
    heads: Positive
    kv_heads: Positive
    head_dim: Positive
    intermediate: Positive
    vocab: Positive
    max_context: Positive


class Weights(Frozen):
    """Where a replica finds its weights, read-only and already there when it starts."""

    host_path: str | None = None
    """Folder on each host of the pool; relative to the clone in the lab."""
    claim: Name | None = None
    """Name of a shared PersistentVolumeClaim that one download Job fills."""
    storage_class: str | None = None
    """Storage class of the claim (ReadWriteMany)."""
    repository: str | None = None
    """Checkpoint that the download Job fetches, such as ``meta-llama/Llama-3.1-405B-Instruct``."""
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")] | None = None
    """Commit of the checkpoint, so that it cannot change under you."""
    read_gb_s: Annotated[float, Field(gt=0)] = 2.0
    """Speed at which one host reads the weights (GB/s); sets the startup budget."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.host_path is None) == (self.claim is None):
            raise ValueError("set exactly one of host_path and claim")
        missing = [key for key in ("storage_class", "repository", "revision") if getattr(self, key) is None]
        if self.claim is not None and missing:
            raise ValueError(f"claim {self.claim!r} needs {', '.join(missing)}, so that one Job can fill it")
        return self


class Rollout(Frozen):
    """How replicas are replaced; leave it out and it follows from the free GPUs."""

    max_surge: Annotated[int, Field(ge=0)]
    max_unavailable: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _moves(self) -> Self:
        if self.max_surge == self.max_unavailable == 0:
            raise ValueError("max_surge=0 with max_unavailable=0 never replaces a pod; raise one of them to 1")
        return self


class EngineMount(Frozen):
    """An engine that lies on the host instead of in the image; the lab's vLLM does."""

    host_path: str
    """Folder on the host; relative to the clone in the lab."""
    mount_path: str = "/opt/engine"


class Model(Frozen):
    """One model behind one name, answered by equal replicas."""

    architecture: str
    """A checkpoint the catalog knows, or any name together with ``config`` or ``shape``."""
    shape: Shape | None = None
    config: str | None = None
    """Path of the checkpoint's own config.json or params.json; relative to the clone."""
    engine: Literal["vllm"] = "vllm"
    engine_version: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    image: str
    """Image reference; by digest, or by name when the image lock knows its digest."""
    cuda: Annotated[str, Field(pattern=CUDA_PATTERN)] | None = None
    """Version of CUDA in the image; left out, it is not compared with the driver of the hosts."""
    pool: Name
    replicas: Annotated[int, Field(ge=1, le=MOST_REPLICAS)]
    tensor_parallel: Annotated[int, Field(ge=1, le=72)] = 1
    """GPUs that share one copy of the weights (count)."""
    pipeline_parallel: Annotated[int, Field(ge=1, le=16)] = 1
    """Stages that hold some of the layers each (count)."""
    data_parallel: Annotated[int, Field(ge=1, le=72)] = 1
    """Ranks that answer requests of their own and share the experts (count)."""
    expert_parallel: bool = False
    """Whether a rank holds whole experts instead of a slice of each."""
    dtype: Literal["bfloat16"] = "bfloat16"
    quantisation: Quantisation | None = None
    """Format of the weights; left out, that of the checkpoint."""
    kv_cache_dtype: CacheFormat = "auto"
    evidence: str | None = None
    """Path of the scores that allow a smaller format; relative to the clone."""
    max_model_len: Annotated[int, Field(ge=16)]
    """Longest prompt and answer together (tokens)."""
    concurrency: Annotated[int, Field(ge=1)] = 1
    """Requests of ``typical_len`` a replica must hold at once (count)."""
    typical_len: Annotated[int, Field(ge=16)] | None = None
    """Prompt and answer of a usual request (tokens); ``max_model_len`` when left out."""
    goal: Goal | None = None
    """What all replicas must hold together; left out, only what is certain to fail is told."""
    max_num_seqs: Annotated[int, Field(ge=1)] | None = None
    """Requests in one batch (count); left out, the plan chooses."""
    max_num_batched_tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens in one batch; left out, the plan chooses."""
    weights: Weights
    kv_cache_gib: Annotated[float, Field(gt=0)] | None = None
    """KV cache of an engine on CPUs (GiB); GPUs divide their own memory."""
    memory_gib: Annotated[float, Field(gt=0)] | None = None
    """Memory limit of a pod (GiB); left out, the plan computes it."""
    cpus: Annotated[float, Field(gt=0)] | None = None
    """CPUs a pod requests (count); left out, its share of the host."""
    shm_gib: Annotated[float, Field(gt=0)] | None = None
    """Size of /dev/shm (GiB), part of the memory limit."""
    drain: Duration | None = None
    """Time the engine gets to finish its answers; the gateway's longest answer when left out."""
    grace: Duration | None = None
    """Kubernetes' grace period; left out, the plan computes it."""
    first_prompt: Annotated[int, Field(ge=0)] | None = None
    """Prompt that a replica reads once before it counts as ready (tokens); left out, the longest; 0, none."""
    startup_budget: Duration | None = None
    """Longest wait for the first readiness; left out, the plan computes it."""
    progress_deadline: Duration | None = None
    """When a rollout counts as stuck; left out, the plan computes it."""
    tier: Tier | None = None
    """How its pods rank when there is not room for all; left out, the best tier of the keys that open it."""
    rollout: Rollout | None = None
    min_available: Annotated[int, Field(ge=0)] | None = None
    """Replicas an eviction must leave (count); left out, all but one."""
    rdma_devices: Annotated[int, Field(ge=0)] = 0
    """RDMA devices a pod asks for (count)."""
    runtime_class: str | None = None
    """Left out, the target's class for GPU pods."""
    node_labels: Labels = Field(default={})
    """Labels a host must have, besides those of the pool."""
    trust_remote_code: str | None = Field(default=None, min_length=20)
    """Why code from the checkpoint may run; left out, it may not."""
    engine_mount: EngineMount | None = None
    engine_env: dict[str, str] = Field(default={})
    """More environment for the engine."""
    engine_args: tuple[str, ...] = ()
    """More arguments for the engine; none that the plan sets itself."""

    @model_validator(mode="after")
    def _lengths_are_served(self) -> Self:
        if self.first_prompt and self.first_prompt >= self.max_model_len:
            raise ValueError(
                f"first_prompt={self.first_prompt} leaves no room for an answer in max_model_len={self.max_model_len}; "
                "lower it, or leave it out"
            )
        if self.typical_len and self.typical_len > self.max_model_len:
            raise ValueError(
                f"typical_len={self.typical_len} is longer than max_model_len={self.max_model_len}; lower it"
            )
        if self.goal and self.goal.length > self.max_model_len:
            raise ValueError(
                f"goal of {self.goal.prompt} and {self.goal.output} tokens is longer than "
                f"max_model_len={self.max_model_len}; lower it"
            )
        return self
