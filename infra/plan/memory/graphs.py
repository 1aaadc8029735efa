"""CUDA graphs of one rank: how many an engine captures, and what they take."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.catalog.gpus import Gpu
from infra.plan.layout import Layout, kinds
from infra.units import GIB, MIB

LARGEST = 512
"""Requests in the largest graph; twice as many on compute capability 10. Source: vllm 0.32.0 config/vllm.py."""

LAYER_BYTES = 150 * 1024
"""One layer in one graph: nodes and their arguments (bytes). Source: 0.54 GiB for 32 layers and 1.2 GiB for 80 lie
inside the 0.11-1.85 GiB that logs give; no log states layers and graphs both."""

MODES = 2
"""Graphs of whole steps and of their pieces, each at every size. Source: vllm 0.32.0, FULL_AND_PIECEWISE."""


def sizes(gpu: Gpu, seqs: int) -> int:
    """Batch sizes that graphs are captured for: 1, 2, 4, then every 8 to 256, then every 16 (count)."""
    largest = min(2 * seqs, LARGEST * (2 if gpu.capability[0] == 10 else 1))
    small = sum(1 for size in (1, 2, 4) if size <= largest)
    return small + min(largest, 256) // 8 + max(0, largest - 256) // 16


ESTIMATE_VARIABLE = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"
"""Set to 0, vLLM takes no estimate off the pool. Source: vllm 0.32.0 envs.py."""


@dataclass(frozen=True, slots=True)
class GraphRule:
    """How CUDA graphs of one model and layout are counted."""

    engine: Engine
    captures: bool
    least: int
    """Bytes of one rank at least."""
    charged: bool
    """Whether they come off before the KV pool, or out of what is left beside the share."""
    notes: tuple[str, ...]

    def bytes(self, layers: int, gpu: Gpu, seqs: int) -> int:
        """Memory of all graphs of one rank (bytes)."""
        if not self.captures:
            return 0
        each = max(MIB, layers * LAYER_BYTES)
        return max(self.least, min(self.engine.graphs_bytes, MODES * sizes(gpu, seqs) * each))


def has_wild_estimate(architecture: Architecture, layout: Layout, engine: Engine) -> bool:
    """Whether an engine's own estimate of graphs takes more than there is, so that it has to be turned off.

    Source: 62 to 119 GiB with experts over data-parallel ranks, vllm#45178 and #53013.
    """
    return engine.mixture_graphs_bytes > 0 and layout.data > 1 and _is_mixture(architecture)


def rule(architecture: Architecture, layout: Layout, engine: Engine, *, eager: bool) -> GraphRule:
    """Find how graphs are counted; a mixture over several ranks is charged with the most that its estimate took."""
    least = engine.mixture_graphs_bytes if layout.gpus > 1 and _is_mixture(architecture) else 0
    is_wild = has_wild_estimate(architecture, layout, engine)
    notes: tuple[str, ...] = ()
    if least and not eager:
        most = f"CUDA graphs of experts over several ranks: {least / GIB:g} GiB are planned, estimates of {engine.name}"
        fix = f"set {ESTIMATE_VARIABLE}=0, as pods do" if is_wild else "check the start-up log with infra fit"
        notes = (f"{most} vary widely (vllm#45178, #53013); {fix}",)
    return GraphRule(engine, not eager, least, engine.counts_graphs and not is_wild, notes)


def _is_mixture(architecture: Architecture) -> bool:
    return any(layer.experts for layer in kinds(architecture.layers))
