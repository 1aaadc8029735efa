"""Layouts: how one copy of a model is dealt to GPUs, and every reason why it cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from infra.catalog.architecture import ROW, Architecture, Layer, Tensor
from infra.catalog.engines import Engine
from infra.catalog.quantisations import Quantisation, quantisation
from infra.units import ceil_div

EXPERT_GROUP = 32
"""Smallest group that kernels for experts cut larger ones into (count). Source: vllm 0.32.0, moe_wna16.py."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Ways in which the GPUs of one replica share a model."""

    tensor: int = 1
    """Ranks that share every layer (count)."""
    pipeline: int = 1
    """Stages that each hold some of the layers (count)."""
    data: int = 1
    """Ranks that each answer requests of their own and share the experts (count)."""
    expert_parallel: bool = False
    """Whether a rank holds whole experts instead of a slice of each."""

    @property
    def gpus(self) -> int:
        """GPUs of one replica (count)."""
        return self.tensor * self.pipeline * self.data

    @property
    def expert_ranks(self) -> int:
        """Ranks that share the experts of a layer (count)."""
        return self.tensor * self.data

    def stages(self, layers: int) -> tuple[int, ...]:
        """Layers of each pipeline stage; what is over goes to the stages before the last, never to the last.

        Source: vllm 0.32.0 distributed/utils.py, get_pp_indices.
        """
        each, over = divmod(layers, self.pipeline)
        return tuple(each + (1 <= self.pipeline - 1 - stage <= over) for stage in range(self.pipeline))


def kinds(layers: Iterable[Layer]) -> Iterable[Layer]:
    """Layers that differ, each once; equal layers are one object, so identity tells (hashing them is slow)."""
    return {id(layer): layer for layer in layers}.values()


def kv_heads(layer: Layer, architecture: Architecture) -> int:
    """Key/value heads of one layer, which a few models vary (count)."""
    return max((cache.kv_heads for cache in layer.caches), default=0) or architecture.kv_heads


def problems(architecture: Architecture, layout: Layout, engine: Engine, format_name: str = "") -> tuple[str, ...]:
    """Every reason why a model cannot be dealt this way, each with what is allowed; empty when it can.

    Args:
        architecture: the model.
        layout: how it is to be dealt.
        engine: by whose rules.
        format_name: format of the weights; empty: that of the checkpoint.
    """
    form = quantisation(format_name or architecture.quantisation or "bf16")
    return (
        *_counts(architecture, layout),
        *_heads(architecture, layout),
        *_experts(architecture, layout),
        *_shapes(architecture, layout, engine, form),
    )


def legal_tensor(architecture: Architecture, most: int, engine: Engine, format_name: str = "") -> list[int]:
    """Tensor-parallel widths up to ``most`` that a model and its format allow (counts)."""
    widths = range(1, most + 1)
    return [ranks for ranks in widths if not problems(architecture, Layout(ranks), engine, format_name)]


def _counts(architecture: Architecture, layout: Layout) -> Iterator[str]:
    for name, value in (("tensor", layout.tensor), ("pipeline", layout.pipeline), ("data", layout.data)):
        if value < 1:
            yield f"{name} parallel {value} — a layout has at least 1 of each; set it to 1"
    if layout.pipeline > len(architecture.layers):
        most = len(architecture.layers)
        yield f"pipeline parallel {layout.pipeline} — {architecture.name} has {most} layers; set it to {most} or lower"


def _heads(architecture: Architecture, layout: Layout) -> Iterator[str]:
    ranks = max(layout.tensor, 1)
    if architecture.heads % ranks:
        yield (
            f"tensor parallel {ranks} — {architecture.heads} attention heads cannot be dealt evenly; "
            f"set it to one of {_divisors(architecture.heads)}"
        )
    counts = {kv_heads(layer, architecture) for layer in kinds(architecture.layers) if _attends(layer)}
    for heads in sorted(counts):
        if heads % ranks and ranks % heads:
            allowed = [n for n in range(1, architecture.heads + 1) if not (heads % n and n % heads)]
            both = ", ".join(str(n) for n in allowed if not architecture.heads % n)
            yield (
                f"tensor parallel {ranks} — {heads} key/value heads can neither be dealt evenly nor copied evenly; "
                f"set it to one of {both}"
            )


def _attends(layer: Layer) -> bool:
    return any(cache.kind != "state" for cache in layer.caches)


def _experts(architecture: Architecture, layout: Layout) -> Iterator[str]:
    experts = max((layer.experts for layer in architecture.layers), default=0)
    if layout.expert_parallel and not experts:
        yield f"expert parallel — {architecture.name} has no experts; turn it off"
    elif layout.expert_parallel and layout.expert_ranks > experts:
        yield (
            f"expert parallel over {layout.expert_ranks} ranks — {architecture.name} has {experts} experts; "
            f"use {experts} ranks or fewer"
        )


def _shapes(architecture: Architecture, layout: Layout, engine: Engine, form: Quantisation) -> Iterator[str]:
    seen = set()
    for layer in kinds(architecture.layers):
        for tensor in layer.tensors:
            own = format_of(tensor, form, architecture)
            if own and tensor.split == "experts" and own.tile > engine.expert_tile > 0:
                own = replace(own, tile=engine.expert_tile)
            for problem in _tiles(tensor, layer, architecture, layout, own) if own else ():
                if problem not in seen:
                    seen.add(problem)
                    yield problem


def format_of(tensor: Tensor, form: Quantisation, architecture: Architecture) -> Quantisation | None:
    """Format that replaces a tensor; None for vectors and for what stays as it is.

    In the checkpoint's own format the checkpoint's own exceptions hold; made of another one, a format replaces all
    that it can. What is smaller than a tile stays: engines have no kernel for it (vllm 0.10.2 to 0.32.0, on the gates
    of Qwen3-Next and Qwen3.5), so that whoever makes such checkpoints leaves it out.
    """
    if tensor.columns == 1:
        return None
    if form.name == architecture.quantisation:
        if tensor.name in architecture.unquantised:
            return None
        if tensor.form:
            own = quantisation(tensor.form)
            return own if own.parts else None
        return grouped(form, architecture.group) if tensor.part in form.parts else None
    return form if tensor.part in form.parts and min(tensor.rows, tensor.columns) >= form.tile else None


@lru_cache(maxsize=256)
def grouped(form: Quantisation, group: int) -> Quantisation:
    """A format with groups as large as a checkpoint says; rows and tiles that share a scale have no groups.

    Args:
        form: as the catalog has it.
        group: values that share a scale (count), ``ROW`` or 0, as ``Architecture.group`` has it.
    """
    if not group or not form.group or form.tile > 1:
        return form
    if group == ROW:
        return replace(form, group=0, row_bytes=form.group_bits / 8)
    return replace(form, group=group, inputs=max(form.inputs, group))


def is_down(tensor: Tensor, architecture: Architecture) -> bool:
    """Whether a matrix of an expert leads back to the hidden width; its inputs are what ranks deal."""
    return tensor.columns > 1 and ("down" in tensor.name or tensor.rows == architecture.hidden != tensor.columns)


def local_shape(tensor: Tensor, layer: Layer | None, architecture: Architecture, layout: Layout) -> tuple[int, int]:
    """Rows and columns of one matrix on one rank, as if it could be dealt (counts)."""
    ranks, rows, columns = max(layout.tensor, 1), tensor.rows, tensor.columns
    if tensor.split == "rows" or (tensor.split == "experts" and is_down(tensor, architecture)):
        return rows, ceil_div(columns, ranks if tensor.split == "rows" else _slices(layout))
    if tensor.split == "columns":
        rows = ceil_div(rows, ranks)
    elif tensor.split == "kv":
        heads = kv_heads(layer, architecture) if layer else architecture.kv_heads
        rows = ceil_div(rows * max(1, heads // ranks), heads)
    elif tensor.split == "vocab":
        rows = ceil_div(ceil_div(rows, 64) * 64, ranks)
    elif tensor.split == "experts":
        rows = ceil_div(rows, _slices(layout))
    return rows, columns


def _slices(layout: Layout) -> int:
    """Ranks that an expert is cut for; whole experts are not (count)."""
    return 1 if layout.expert_parallel else max(layout.expert_ranks, 1)


def _tiles(
    tensor: Tensor, layer: Layer, architecture: Architecture, layout: Layout, form: Quantisation
) -> Iterator[str]:
    rows, columns = local_shape(tensor, layer, architecture, layout)
    # Kernels that round experts up accept any width.
    if form.width_pad > 1:
        return
    if (rows, columns) == (tensor.rows, tensor.columns):
        return
    # Gate and up are one matrix to a kernel; tiles are counted in each all the same.
    joined = 2 if tensor.name.rsplit(".", 1)[-1] in ("gate_proj", "up_proj") else 1
    where = f"tensor parallel {layout.tensor}" + (f" times data {layout.data}" if layout.data > 1 else "")
    fix = "turn expert parallel on or lower it" if tensor.split == "experts" else "lower it"
    # Kernels for experts take any outputs, and halve groups until they divide the inputs.
    outputs, inputs = (1, min(form.inputs, EXPERT_GROUP)) if tensor.split == "experts" else (form.outputs, form.inputs)
    for side, size, count, multiple in (
        ("outputs", rows, rows, form.tile),
        ("outputs", rows, rows * joined, outputs),
        ("inputs", columns, columns, max(form.tile, inputs)),
    ):
        if count % multiple:
            yield (
                f"{where} — {tensor.name} has {size} {side} on each rank, {form.name} wants a multiple of "
                f"{multiple}; {fix}"
            )


def _divisors(number: int) -> str:
    return ", ".join(str(n) for n in range(1, number + 1) if not number % n)
