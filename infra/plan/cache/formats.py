"""Bytes that one token, or one state, takes in one layer of one rank, by cache format."""

from __future__ import annotations

from infra.catalog.architecture import Architecture, Cache
from infra.errors import ConfigError, Unknown
from infra.units import ceil_div

_FLOAT = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4}
"""Bytes per value by name of the model's data type."""

_PLAIN = {**_FLOAT, "bf16": 2, "fp16": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1, "fp8_inc": 1}
"""Bytes per cached value where a format has no scales beside it."""

_PACKED_LATENT = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}
"""Bytes of a token of DeepSeek's packed layouts, rotary part and scales included.

Source: vllm 0.32.0 model_executor/layers/attention/mla_attention.py."""

_HEAD_SCALES = {"fp8_per_token_head": 8, "int8_per_token_head": 8, "int4_per_token_head": 4}
"""Bits of a value; two float32 scales a head come on top. Source: vllm 0.32.0 attention/backends/triton_attn.py."""


def entry_bytes(architecture: Architecture, cache: Cache, kv_dtype: str, ranks: int) -> int:
    """Size what one layer keeps of one token on one rank (bytes).

    Key/value heads are dealt to the ranks and copied once there are more ranks than heads; MLA's latent vector and an
    indexer's keys are the same on every rank.

    Raises:
        Unknown: a format whose layout is not known.
    """
    if cache.kind == "index":
        # A byte for each value and a float32 scale for each 128, whatever the cache's format.
        return cache.key_dim + cache.key_dim // 128 * 4
    if cache.kind == "latent":
        return _latent_bytes(architecture, cache, kv_dtype)
    heads = max(1, cache.kv_heads // ranks)
    values = cache.key_dim + cache.value_dim
    if kv_dtype in _HEAD_SCALES:
        return heads * (values * _HEAD_SCALES[kv_dtype] // 8 + 8)
    if kv_dtype in ("nvfp4", "nvfp4_4over6"):
        # Half a byte for each value and a byte of scale for each 16.
        return heads * (values // 2 + values // 16)
    return heads * values * _value_bytes(architecture, kv_dtype)


def _latent_bytes(architecture: Architecture, cache: Cache, kv_dtype: str) -> int:
    layers = {id(layer): layer for layer in architecture.layers}.values()
    sparse = any(other.kind == "index" for layer in layers for other in layer.caches)
    name = "fp8_ds_mla" if sparse and kv_dtype in ("fp8", "fp8_e4m3") else kv_dtype
    if name in _PACKED_LATENT:
        return _PACKED_LATENT[name]
    return cache.key_dim * _value_bytes(architecture, kv_dtype)


def _value_bytes(architecture: Architecture, kv_dtype: str) -> int:
    name = architecture.dtype if kv_dtype == "auto" else kv_dtype
    if name not in _PLAIN:
        raise Unknown(
            f"cache format {kv_dtype!r} — has no known layout for {architecture.name!r}; "
            f"known are auto, {', '.join(sorted({*_PLAIN, *_PACKED_LATENT, *_HEAD_SCALES, 'nvfp4'}))}; choose one"
        )
    return _PLAIN[name]


def state_bytes(architecture: Architecture, cache: Cache, ranks: int, drafted: int, *, temporal: str) -> int:
    """Size the states of one request in one recurrent layer of one rank (bytes).

    A convolution keeps its last inputs and one more for each token drafted.

    Args:
        architecture: the model.
        cache: what the layer keeps.
        ranks: that share the layer (count).
        drafted: tokens drafted ahead (count).
        temporal: data type of a recurrent state whose config asks for none.

    Raises:
        ConfigError: the ranks do not divide a state.
    """
    total = 0
    for state in cache.states:
        values = state.values + (state.values // state.inputs * drafted if state.inputs else 0)
        if values % ranks:
            raise ConfigError(
                f"model {architecture.name!r} — a state of {values} values cannot be dealt to {ranks} ranks; "
                "the number of ranks has to divide it; choose another tensor parallelism"
            )
        default = temporal if state.is_temporal else architecture.dtype
        total += values // ranks * _FLOAT[state.dtype or default]
    return total


def pad(size: int, to: int) -> int:
    """Round up to a multiple (bytes or tokens)."""
    return ceil_div(size, to) * to
