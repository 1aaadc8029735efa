"""Towers for pictures: weights outside the layers, and no cache.

Source: the modeling files of transformers 5.19.0 named at each tower; how ranks share them, vllm 0.32.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from infra.catalog.architecture import Split, Tensor
from infra.catalog.configs.attention import vector
from infra.catalog.configs.fields import Fields


def tower(fields: Fields) -> tuple[Tensor, ...]:
    """Tensors of the vision tower and its way into the text tower; empty without one."""
    vision = fields.nested("vision_config")
    if vision is None:
        return ()
    kind = str(vision.whole.get("model_type") or fields.whole.get("model_type") or "")
    for start, make in _TOWERS.items():
        if kind.startswith(start):
            return make(vision, fields.count("hidden_size"))
    return fields.doubt(f"vision tower {kind or 'without a model_type'!r} is not known here")


def _matrix(name: str, rows: int, columns: int, count: int = 1) -> Tensor:
    """Sides are dealt as in the text tower: what comes out of attention or of the wide side by its inputs."""
    split: Split = "rows" if name.endswith(("proj_out", "down")) else "columns"
    return Tensor(f"vision.{name}", rows, columns, "vision", split, count)


def _whole(name: str, rows: int, columns: int, count: int = 1) -> Tensor:
    return Tensor(f"vision.{name}", rows, columns, "vision", "none", count)


def _blocks(hidden: int, width: int, depth: int, *, gated: bool, vectors: int) -> tuple[Tensor, ...]:
    """Attention and feed-forward part of all layers; ``vectors``: values of biases and norms of one layer."""
    return (
        _matrix("qkv", 3 * hidden, hidden, depth),
        _matrix("proj_out", hidden, hidden, depth),
        _matrix("up", width * (2 if gated else 1), hidden, depth),
        _matrix("down", hidden, width, depth),
        vector("vision.vectors", vectors * depth, "vision"),
    )


def _qwen3(vision: Fields, hidden: int) -> tuple[Tensor, ...]:
    """Qwen3-VL and Qwen3.5: modeling_qwen3_vl.py, modeling_qwen3_5.py."""
    inner, width, depth = (vision.count(key) for key in ("hidden_size", "intermediate_size", "depth"))
    frames = vision.count("in_channels", default=3) * vision.count("temporal_patch_size")
    merged = inner * vision.count("spatial_merge_size") ** 2
    out = vision.count("out_hidden_size", default=hidden)
    deep = len(vision.counts("deepstack_visual_indexes"))
    return (
        _whole("patch_embed", inner, frames * vision.count("patch_size") ** 2),
        _whole("pos_embed", vision.count("num_position_embeddings"), inner),
        *_blocks(inner, width, depth, gated=False, vectors=9 * inner + width),
        _matrix("merger.up", merged, merged, 1 + deep),
        _matrix("merger.down", out, merged, 1 + deep),
        vector("vision.merger.vectors", 3 * inner + (1 + deep) * (merged + out) + deep * 2 * merged, "vision"),
    )


def _llama4(vision: Fields, hidden: int) -> tuple[Tensor, ...]:
    """Llama 4: modeling_llama4.py."""
    inner, width, depth = (vision.count(key) for key in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    side, patch = vision.count("image_size"), vision.count("patch_size")
    middle, out = vision.count("projector_input_dim"), vision.count("projector_output_dim")
    return (
        _whole("patch_embedding", inner, vision.count("num_channels", default=3) * patch**2),
        vector("vision.positions", inner * ((side // patch) ** 2 + 2), "vision"),
        *_blocks(inner, width, depth, gated=False, vectors=9 * inner + width),
        vector("vision.layernorms", 4 * inner, "vision"),
        _matrix("adapter.up", middle, width),
        _matrix("adapter.down", out, out),
        _whole("projector", hidden, vision.count("vision_output_dim")),
    )


def _siglip(vision: Fields, hidden: int) -> tuple[Tensor, ...]:
    """SigLIP of Gemma 3: modeling_siglip.py, modeling_gemma3.py."""
    inner, width, depth = (vision.count(key) for key in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    side, patch = vision.count("image_size"), vision.count("patch_size")
    return (
        _whole("patch_embedding", inner, vision.count("num_channels", default=3) * patch**2),
        vector("vision.positions", inner * ((side // patch) ** 2 + 1), "vision"),
        *_blocks(inner, width, depth, gated=False, vectors=9 * inner + width),
        vector("vision.norms", 3 * inner, "vision"),
        _whole("projector", hidden, inner),
    )


def _gemma4(vision: Fields, hidden: int) -> tuple[Tensor, ...]:
    """Gemma 4: modeling_gemma4.py."""
    inner, width, depth = (vision.count(key) for key in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    size = vision.count("head_dim", default=inner // vision.count("num_attention_heads"))
    return (
        _whole("patch_embedding", inner, 3 * vision.count("patch_size") ** 2),
        _whole("positions", 2 * vision.count("position_embedding_size"), inner),
        *_blocks(inner, width, depth, gated=True, vectors=4 * inner + 2 * size),
        *((vector("vision.standard", 2 * inner, "vision"),) if vision.flag("standardize") else ()),
        _whole("projector", hidden, inner),
    )


def _pixtral(vision: Fields, hidden: int) -> tuple[Tensor, ...]:
    """Pixtral of Mistral Small 3: modeling_pixtral.py, modeling_mistral3.py."""
    inner, width, depth = (vision.count(key) for key in ("hidden_size", "intermediate_size", "num_hidden_layers"))
    merge = vision.count("spatial_merge_size", default=2)
    return (
        _whole("patch_conv", inner, vision.count("num_channels", default=3) * vision.count("patch_size") ** 2),
        *_blocks(inner, width, depth, gated=True, vectors=2 * inner),
        vector("vision.norms", 2 * inner, "vision"),
        _whole("patch_merger", inner, inner * merge**2),
        _whole("projector.linear_1", hidden, inner),
        _whole("projector.linear_2", hidden, hidden),
    )


def _moonvit(vision: Fields, hidden: int) -> tuple[Tensor, ...]:
    """MoonViT of Kimi-K2.5: vllm 0.32.0 models/kimi_k25_vit.py."""
    inner, width, depth = (
        vision.count(key, key.removeprefix("vt_"))
        for key in ("vt_hidden_size", "vt_intermediate_size", "vt_num_hidden_layers")
    )
    merged = inner * math.prod(vision.counts("merge_kernel_size"))
    grid = vision.count("init_pos_emb_height") * vision.count("init_pos_emb_width")
    return (
        _whole("patch_embed", inner, 3 * vision.count("patch_size") ** 2),
        _whole("pos_emb", grid, inner),
        *_blocks(inner, width, depth, gated=False, vectors=9 * inner + width),
        vector("vision.norms", 5 * inner + merged + hidden, "vision"),
        _whole("projector.linear_1", merged, merged),
        _whole("projector.linear_2", hidden, merged),
    )


_TOWERS: dict[str, Callable[[Fields, int], tuple[Tensor, ...]]] = {
    "qwen3": _qwen3,
    "llama4": _llama4,
    "siglip": _siglip,
    "gemma3": _siglip,
    "gemma4": _gemma4,
    "pixtral": _pixtral,
    "mistral3": _pixtral,
    "kimi_k25": _moonvit,
}
"""By the start of the tower's ``model_type``, or of the whole model's where the tower has none."""
