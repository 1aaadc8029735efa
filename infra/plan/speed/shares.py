"""What one rank holds of a model, summed up once, so that any batch can be priced quickly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from infra.catalog.architecture import Architecture, Cache, Layer, Tensor
from infra.catalog.gpus import Gpu
from infra.catalog.quantisations import Quantisation
from infra.plan.cache.formats import entry_bytes
from infra.plan.layout import Layout, format_of, kinds, local_shape
from infra.units import ceil_div

TERA = 1e12
"""Operations in one tera-operation. Source: SI."""

SPARSE_TOKENS = 2048
"""Tokens that a sparse indexer lets a query attend to. Source: index_topk in the configs of DeepSeek-V3.2 and GLM-5."""

_UNPACKED = ("w4a16", "w8a16", "awq", "gptq", "mxfp4-triton", "mxfp4-marlin")
"""Formats whose weights are small and whose arithmetic is bf16."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a model runs on, and in which formats."""

    layout: Layout
    gpu: Gpu
    form: Quantisation
    kv_dtype: str
    """Format of cached keys and values."""


@dataclass(frozen=True, slots=True)
class Work:
    """Matrices of one rank: what reading them and one token's arithmetic take at the peaks (seconds)."""

    read: float = 0.0
    bf16: float = 0.0
    """Arithmetic of matrices in bf16."""
    small: float = 0.0
    """Arithmetic of matrices in a smaller format, at its peak."""
    small_bf16: float = 0.0
    """The same arithmetic at the peak of bf16."""

    def plus(self, other: Work) -> Work:
        """Both together."""
        return Work(
            self.read + other.read,
            self.bf16 + other.bf16,
            self.small + other.small,
            self.small_bf16 + other.small_bf16,
        )


@dataclass(frozen=True, slots=True)
class Seen:
    """One kind of cache of a layer."""

    cap: float
    """Entries that a token attends to at most (count)."""
    compress: int
    read: float
    """One entry of one request, read at the peak (seconds)."""
    attend: float
    """Arithmetic of one token on one entry while prompts are read, at the peak of bf16 (seconds)."""
    attend_absorbed: float
    """The same while answers are written."""


@dataclass(frozen=True, slots=True)
class Share:
    """One rank's share of all layers of one kind."""

    layers: int
    """Layers of this kind (count)."""
    always: Work
    """Of one layer: what every token passes."""
    experts: Work
    """Of one layer: what only some tokens pass."""
    chosen: float
    """Share of the experts that one token passes."""
    caches: tuple[Seen, ...]
    states: float
    """Recurrent states of one request, read and written at the peak (seconds)."""


def shares(architecture: Architecture, machine: Machine) -> tuple[Share, ...]:
    """Sum up each kind of layer."""
    held = Counter(id(layer) for layer in architecture.layers)
    return tuple(_share(layer, held[id(layer)], architecture, machine) for layer in kinds(architecture.layers))


def head(architecture: Architecture, machine: Machine) -> Work:
    """Sum up the matrix that turns the last token of each request into scores; a tied embedding serves as one."""
    part = "head" if any(tensor.part == "head" for tensor in architecture.outside) else "embedding"
    total = Work()
    for tensor in architecture.outside:
        if tensor.part == part:
            total = total.plus(_work(tensor, None, architecture, machine))
    return total


def _share(layer: Layer, count: int, architecture: Architecture, machine: Machine) -> Share:
    always, experts = Work(), Work()
    for tensor in layer.tensors:
        work = _work(tensor, layer, architecture, machine)
        if tensor.part == "expert":
            experts = experts.plus(work)
        else:
            always = always.plus(work)
    chosen = layer.active_experts / layer.experts if layer.experts else 0.0
    kept = [cache for cache in layer.caches if cache.kind != "state"]
    caches = tuple(_seen(cache, layer, architecture, machine) for cache in kept)
    states = sum(state.values * (4 if state.is_temporal else 2) for cache in layer.caches for state in cache.states)
    return Share(count, always, experts, chosen, caches, 2 * states / machine.layout.tensor / _bandwidth(machine.gpu))


def _work(tensor: Tensor, layer: Layer | None, architecture: Architecture, machine: Machine) -> Work:
    layout, gpu = machine.layout, machine.gpu
    rows, columns = local_shape(tensor, layer, architecture, layout)
    is_whole = tensor.split == "experts" and layout.expert_parallel
    values = rows * columns * (ceil_div(tensor.count, layout.expert_ranks) if is_whole else tensor.count)
    bf16 = 2 * values / (gpu.peaks.bf16_tflops * TERA)
    own = format_of(tensor, machine.form, architecture)
    if own is None:
        return Work(values * 2 / _bandwidth(gpu), bf16)
    own = own.in_memory(gpu.capability)
    read, peak = values * own.bits_per_value / 8 / _bandwidth(gpu), _peak(own, gpu)
    return Work(read, bf16) if peak is None else Work(read, 0.0, 2 * values / (peak * TERA), bf16)


def _bandwidth(gpu: Gpu) -> float:
    return gpu.hbm_gb_s * 1e9


def _peak(form: Quantisation, gpu: Gpu) -> float | None:
    """Peak of a format (tera-operations/s); None where the GPU unpacks it to bf16."""
    if not form.is_native(gpu.capability) or form.name in _UNPACKED:
        return None
    if form.name == "nvfp4":
        return gpu.peaks.fp4_tflops
    return gpu.peaks.int8_tops if form.name == "w8a8-int8" else gpu.peaks.fp8_tflops


def _seen(cache: Cache, layer: Layer, architecture: Architecture, machine: Machine) -> Seen:
    ranks, gpu = machine.layout.tensor, machine.gpu
    is_sparse = cache.kind == "latent" and any(other.kind == "index" for other in layer.caches)
    cap = min(cache.window or float("inf"), SPARSE_TOKENS if is_sparse else float("inf"))
    size = entry_bytes(architecture, cache, machine.kv_dtype, ranks)
    width = sum(
        tensor.columns
        for tensor in layer.tensors
        if tensor.part == "attention" and tensor.split == "rows" and tensor.columns > 1
    )
    # Answers are written with MLA in the latent space, which is wider than the heads.
    absorbed = architecture.heads * cache.key_dim if cache.kind == "latent" else width
    one = 0.0 if cache.kind == "index" else 4 / ranks / (gpu.peaks.bf16_tflops * TERA)
    return Seen(cap, cache.compress, size / _bandwidth(gpu), one * width, one * absorbed)
