"""An engine: the rules by which one line of its versions divides memory, and what it does when told to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from infra.catalog.gpus import Gpu

Budget = Literal["requested", "static", "left"]
"""What the engine's share is a share of.

``requested``: of the total; weights, activation, graphs and the pool live inside (vLLM, TGI since 3.0).
``static``: of the total; weights and the pool live inside, activation and graphs in the rest (SGLang, LightLLM).
``left``: of what is free once weights and activation have been seen (TensorRT-LLM, TGI before 3.0).
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Sizes of a batch that an engine takes by itself on a GPU of some size."""

    least_gib: int
    """Memory from which on they hold (GiB)."""
    tokens: int
    """Tokens in one batch (count)."""
    seqs: int
    """Requests in one batch (count)."""
    not_on: tuple[str, ...] = ()
    """GPUs that get the next smaller sizes, by name."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One line of versions of an engine that share their rules."""

    name: str
    since: tuple[int, int]
    """First version (major, minor) these rules hold for."""
    utilisation: float
    """Default share of memory that the engine asks for; of what, says ``budget``."""
    graphs_bytes: int
    """CUDA graphs, taken off before the KV pool; upper end of what was observed (bytes)."""
    non_torch_bytes: tuple[int, int]
    """Outside PyTorch: with one rank, with several that share a layer (bytes)."""
    block_tokens: int
    """Tokens in one KV block."""
    compile_seconds: int
    """Compile and graph capture with a cold cache (seconds)."""
    teardown_seconds: int
    """From the last answer to process exit (seconds)."""
    port: int
    ready_path: str
    """Answers 200 only when the model can answer; ``/health`` does so too early."""
    source: str
    batches: tuple[Batch, ...]
    """Largest GPU first."""
    logit_bytes: int
    """Bytes of each logit, with all its copies, while the sampler is profiled (bytes)."""
    persistent_bytes: int
    """Buffers of PyTorch that the profile counts as activation (bytes)."""
    budget: Budget = "requested"
    counts_graphs: bool = False
    """Whether CUDA graphs come off before the KV pool, or out of what is left beside the share."""
    mixture_graphs_bytes: int = 0
    """Most that its estimate of CUDA graphs took off for experts over tensor-parallel ranks (bytes); 0: as others."""
    profiles_longest_video: bool = False
    """Whether it profiles a video as long as a request may be, unless it is told a limit."""
    lacks: tuple[str, ...] = ()
    """Formats whose kernels its package does not bring; the weights take the next one's space."""
    expert_tile: int = 0
    """Smallest tile it cuts those of experts into where ranks would share one (count); 0: it refuses such ranks."""
    adapts_share: bool = False
    """Whether the default share follows from the GPU and the layout, and ``utilisation`` is only its upper end."""
    adapts_batch: bool = False
    """Whether the tokens of a default batch follow from GPU and model, so that ``batches`` hold only where given."""

    def batch(self, gpu: Gpu) -> Batch:
        """Sizes that hold on a GPU."""
        fits = (row for row in self.batches if gpu.memory_torch_gib >= row.least_gib and gpu.name not in row.not_on)
        return next(fits, self.batches[-1])
