"""Weights of one rank: what each stage holds, dealt as tensor and expert parallelism deal it, in the format's bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from infra.catalog.architecture import Architecture, Layer, Tensor
from infra.catalog.quantisations import Quantisation
from infra.plan.layout import Layout, format_of, is_down, kinds, local_shape
from infra.units import ceil_div

DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
"""Bytes of a value that no format replaces, by the checkpoint's data type."""


Held = Callable[[Quantisation], Quantisation]
"""From a format to the one that a GPU keeps its weights in."""


def stage_weights(
    architecture: Architecture, layout: Layout, form: Quantisation, *, drafter: bool, held: Held = lambda form: form
) -> tuple[int, ...]:
    """Weights of one rank of each pipeline stage (bytes)."""
    plain = DTYPE_BYTES[architecture.dtype] if form.parts else form.bits / 8
    deal = partial(_bytes, architecture=architecture, layout=layout, form=form, plain=plain, held=held)
    cost: dict[int, float] = {
        id(layer): sum(deal(tensor, layer) for tensor in layer.tensors)
        for layer in kinds((*architecture.layers, *architecture.drafter))
    }
    sizes, start = [], 0
    for stage, count in enumerate(layout.stages(len(architecture.layers))):
        kept = Counter(id(layer) for layer in architecture.layers[start : start + count])
        start += count
        outside = _outside(architecture, first=stage == 0, last=stage == layout.pipeline - 1)
        size = sum(cost[kind] * number for kind, number in kept.items())
        size += sum(deal(tensor, None) for tensor in outside)
        # Drafters run beside the head, on the last stage.
        if drafter and stage == layout.pipeline - 1:
            size += sum(cost[id(layer)] for layer in architecture.drafter)
        sizes.append(round(size))
    return tuple(sizes)


def _outside(architecture: Architecture, *, first: bool, last: bool) -> list[Tensor]:
    """Embedding and vision tower stand before the first layer, norm and head after the last one."""
    held = []
    for tensor in architecture.outside:
        at_start = tensor.part in ("embedding", "vision")
        # A head that shares the embedding's values needs them on the last stage too.
        is_shared = tensor.part == "embedding" and architecture.is_tied
        if (first and at_start) or (last and (not at_start or is_shared)):
            held.append(tensor)
    return held


def _bytes(
    tensor: Tensor,
    layer: Layer | None,
    *,
    architecture: Architecture,
    layout: Layout,
    form: Quantisation,
    plain: float,
    held: Held,
) -> float:
    rows, columns = local_shape(tensor, layer, architecture, layout)
    count = tensor.count
    if tensor.split == "experts" and layout.expert_parallel:
        count = ceil_div(count, layout.expert_ranks)
    own = format_of(tensor, form, architecture)
    if own is None:
        return rows * columns * count * plain
    own = held(own)
    if tensor.part == "expert" and own.hidden_pad > 1:
        rows, columns = _padded(rows, columns, tensor, architecture, own)
    return count * (rows * columns * own.bits_per_value / 8 + rows * own.row_bytes)


def _padded(rows: int, columns: int, tensor: Tensor, architecture: Architecture, form: Quantisation) -> tuple[int, int]:
    """Sides of an expert as its kernel lays them out; the hidden side is recognised by its width."""
    sides = []
    leads_back = is_down(tensor, architecture)
    for size, is_hidden in ((rows, leads_back), (columns, not leads_back)):
        multiple = form.hidden_pad if is_hidden else form.width_pad
        sides.append(ceil_div(size, multiple) * multiple)
    return sides[0], sides[1]
