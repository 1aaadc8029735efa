"""CUDA graphs of one rank: how many an engine captures, and what they take."""

from __future__ import annotations

from infra.catalog.engines import Engine
from infra.catalog.gpus import Gpu
from infra.units import MIB

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


def graph_bytes(layers: int, gpu: Gpu, engine: Engine, seqs: int) -> int:
    """Memory of all graphs of one rank, not above what was ever seen (bytes)."""
    each = max(MIB, layers * LAYER_BYTES)
    return min(engine.graphs_bytes, MODES * sizes(gpu, seqs) * each)
