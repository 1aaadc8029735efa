"""A decoder put together: layers between an embedding and a head, and how long a context it was trained for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.catalog.architecture import Architecture, Layer, Tensor
from infra.catalog.configs.attention import vector
from infra.catalog.configs.fields import Fields

_SCALED = frozenset({"linear", "dynamic", "ntk"})
"""Rotary scalings that lengthen ``max_position_embeddings``; the others state the long context already.
Source: vllm 0.32.0 config/model.py, _get_and_verify_max_len."""

_MOST_SCALED = 10_000
"""Factor of rotary positions beyond which it is a mistake. Source: our choice; published ones end at 256."""


def norms(hidden: int, *names: str) -> Layer:
    """Norms before and after the parts of a layer."""
    wanted = names or ("input_layernorm", "post_attention_layernorm")
    return Layer(tuple(vector(name, hidden) for name in wanted), ())


def decoder(
    fields: Fields,
    layers: tuple[Layer, ...],
    *,
    tied: bool = False,
    drafter: tuple[Layer, ...] = (),
    tower: tuple[Tensor, ...] = (),
    kv_heads: int | None = None,
    stretched: bool = True,
) -> Architecture:
    """Put a decoder together.

    Args:
        fields: the config.
        layers: in order.
        tied: whether head and embedding are one where the config does not say it.
        drafter: layers for multi-token prediction.
        tower: tensors outside the layers beside embedding, norm and head.
        kv_heads: where the config's own number is not that of the cache (count).
        stretched: whether a scaling of rotary positions lengthens the context that the config states.
    """
    hidden, vocab = fields.count("hidden_size"), fields.count("vocab_size")
    heads = fields.count("num_attention_heads")
    is_tied = fields.flag("tie_word_embeddings", default=tied)
    embedding = Tensor("embed_tokens", vocab, hidden, "embedding", "vocab")
    head = () if is_tied else (Tensor("lm_head", vocab, hidden, "head", "vocab"),)
    return Architecture(
        name=fields.name,
        family="",
        hidden=hidden,
        vocab=vocab,
        max_context=max_context(fields, stretched=stretched),
        heads=heads,
        kv_heads=kv_heads or fields.count("num_key_value_heads", default=heads),
        layers=layers,
        outside=(embedding, *head, vector("norm", hidden), *tower),
        drafter=drafter,
        is_tied=is_tied,
        dtype=fields.dtype,
    )


def max_context(fields: Fields, *, stretched: bool = True) -> int:
    """Longest context that engines take (tokens).

    Args:
        fields: the config.
        stretched: whether a scaling of rotary positions lengthens what the config states.
    """
    longest = fields.count("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    scaling = fields.get("rope_scaling", "rope_parameters")
    if not isinstance(scaling, Mapping):
        return longest
    kind = str(scaling.get("rope_type", scaling.get("type", "default")))
    return int(longest * _factor(fields, scaling)) if stretched and kind in _SCALED else longest


def _factor(fields: Fields, scaling: Mapping[str, Any]) -> float:
    factor = scaling.get("factor", 1.0)
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 <= factor < _MOST_SCALED:
        return fields.problem("rope_scaling.factor", factor, f"a number from 1 to {_MOST_SCALED}")
    return float(factor)
