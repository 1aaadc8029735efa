"""Formats of weights as configs state them, named as ``infra.catalog.quantisations`` does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infra.catalog.architecture import ROW
from infra.catalog.configs.fields import Fields

_MODELOPT = {
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8",
    "FP8_PB_WO": "fp8-block",
    "NVFP4": "nvfp4",
    "W4A16_NVFP4": "nvfp4",
    "MXFP8": "mxfp8",
}
"""``quant_algo`` of NVIDIA ModelOpt. Source: vllm 0.32.0 layers/quantization/modelopt.py, QUANT_ALGOS."""

_NAMED = {"mxfp4": "mxfp4", "gpt_oss_mxfp4": "mxfp4", "fbgemm_fp8": "fp8"}
"""Other methods whose name tells the format."""

_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}

_COMPRESSED = {
    ("int", 8, "int", 8): "w8a8-int8",
    ("int", 8, None, None): "w8a16",
    ("int", 4, None, None): "w4a16",
    ("int", 4, "float", 8): "w4a8-fp8",
}
"""Types and bits of weights and activations in compressed-tensors, beside the floating ones."""


def plain_form(dtype: str) -> str:
    """Format of what no quantisation touched."""
    return _DTYPES.get(dtype, "bf16")


def modelopt_form(fields: Fields, algorithm: object) -> str:
    """Format that a ModelOpt name stands for."""
    if str(algorithm) not in _MODELOPT:
        fields.doubt(f"quantisation quant_algo {algorithm!r} is not known here; known are {sorted(_MODELOPT)}")
    return _MODELOPT[str(algorithm)]


def stated_form(fields: Fields, stated: Mapping[str, Any]) -> str:
    """Format that a ``quantization_config`` states for what it replaces."""
    method = str(stated.get("quant_method", "modelopt" if "quant_algo" in stated else "")).replace("_", "-")
    if method in ("fp8", "fp8-e4m3"):
        return _fp8(fields, stated)
    if method in ("awq", "gptq", "awq-marlin", "gptq-marlin"):
        return _weight_only(fields, stated, method.removesuffix("-marlin"))
    if method.startswith("modelopt"):
        return modelopt_form(fields, stated.get("quant_algo"))
    if method == "compressed-tensors":
        return _compressed(fields, stated)
    if method.replace("-", "_") not in _NAMED:
        fields.doubt(f"quantisation method {method or 'without a name'!r} is not known here")
    return _NAMED[method.replace("-", "_")]


def _fp8(fields: Fields, stated: Mapping[str, Any]) -> str:
    tile = stated.get("weight_block_size")
    if tile and tile != [128, 128]:
        fields.doubt(f"quantisation weight_block_size {tile!r} is not known here; known is [128, 128]")
    return "fp8-block" if tile else "fp8"


def _weight_only(fields: Fields, stated: Mapping[str, Any], method: str) -> str:
    """AWQ or GPTQ by the bits of a weight, which old AWQ checkpoints call ``w_bit``."""
    bits = stated.get("bits", stated.get("w_bit"))
    if bits not in (4, 8):
        fields.doubt(f"quantisation {method} of {bits!r} bits is not known here; known are 4 and 8")
    size = _stated_group(stated, -1)
    if isinstance(size, bool) or not isinstance(size, int) or (size < 1 and size != -1):
        fields.doubt(f"quantisation {method} with group_size {size!r}; known are 1 and more, and -1 for a whole row")
    return "w8a16" if bits == 8 else method


def _stated_group(stated: Mapping[str, Any], unsaid: int | None = None) -> object:
    """Size of a group as it is written, which old AWQ checkpoints call ``q_group_size``."""
    return stated.get("group_size", stated.get("q_group_size", unsaid))


def _compressed(fields: Fields, stated: Mapping[str, Any]) -> str:
    """One format for all groups, by the bits of weights and activations."""
    groups = stated.get("config_groups")
    found = {_group(stated, group) for group in groups.values()} if isinstance(groups, Mapping) else set()
    if len(found) != 1 or "" in found:
        fields.doubt(f"compressed-tensors states the formats {sorted(found)} in config_groups, and one is known here")
    return found.pop()


def _group(stated: Mapping[str, Any], group: object) -> str:
    weights, inputs = _section(group, "weights"), _section(group, "input_activations")
    if not isinstance(group, Mapping) or not weights:
        return ""
    layout = str(group.get("format") or stated.get("format") or "")
    shape = tuple(part.get(key) for part in (weights, inputs) for key in ("type", "num_bits"))
    if layout.startswith("mxfp4"):
        return "mxfp4"
    if shape == ("float", 8, "float", 8):
        return "fp8-block" if weights.get("strategy") == "block" else "fp8"
    if shape[:2] == ("float", 4):
        return "nvfp4" if weights.get("group_size") == 16 else "mxfp4"
    return next((form for known, form in _COMPRESSED.items() if known == shape), "")


def _section(group: object, key: str) -> Mapping[str, Any]:
    value = group.get(key) if isinstance(group, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def scale_group(stated: Mapping[str, Any]) -> int:
    """Values that share a scale (count); ``ROW`` where a whole row shares one, 0 where it is not said."""
    groups = stated.get("config_groups")
    sections = groups.values() if isinstance(groups, Mapping) else ()
    said = [_stated_group(stated)]
    said += (_section(group, "weights").get("group_size") for group in sections)
    sizes = [size for size in said if isinstance(size, int) and not isinstance(size, bool)]
    return next((size if size > 0 else ROW for size in sizes if size), 0)


def cache_form(stated: Mapping[str, Any]) -> str:
    """Format of the key/value cache that a checkpoint was calibrated for; empty: none."""
    scheme = stated.get("kv_cache_quant_algo") or stated.get("kv_cache_scheme")
    if isinstance(scheme, str):
        return scheme.lower()
    is_fp8 = isinstance(scheme, Mapping) and scheme.get("type") == "float" and scheme.get("num_bits") == 8
    return "fp8" if is_fp8 else ""
