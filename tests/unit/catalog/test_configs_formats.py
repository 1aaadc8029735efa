"""Formats of weights as configs state them, and what they leave out."""

from __future__ import annotations

from typing import Any

import pytest

from infra.catalog.architecture import ROW, Architecture
from infra.errors import Unknown
from tests.unit.catalog.config_samples import DEEPSEEK, LLAMA, QWEN3_MOE, sample


def _groups(weights: dict[str, Any], inputs: dict[str, Any] | None = None) -> dict[str, Any]:
    group = {"targets": ["Linear"], "weights": weights, "input_activations": inputs}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": group}}


FLOAT8, INT8 = {"type": "float", "num_bits": 8}, {"type": "int", "num_bits": 8}
INT4 = {"type": "int", "num_bits": 4}

STATED = {
    "fp8": ({"quant_method": "fp8"}, "fp8"),
    "fp8 tiles": ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8-block"),
    "mxfp4": ({"quant_method": "mxfp4"}, "mxfp4"),
    "awq": ({"quant_method": "awq", "bits": 4}, "awq"),
    "gptq": ({"quant_method": "gptq", "bits": 4}, "gptq"),
    "gptq of eight bits": ({"quant_method": "gptq", "bits": 8}, "w8a16"),
    "modelopt": ({"quant_algo": "NVFP4"}, "nvfp4"),
    "compressed fp8": (_groups(FLOAT8, FLOAT8), "fp8"),
    "compressed fp8 tiles": (_groups(FLOAT8 | {"strategy": "block"}, FLOAT8), "fp8-block"),
    "compressed int8": (_groups(INT8, INT8), "w8a8-int8"),
    "compressed int4": (_groups(INT4), "w4a16"),
    "compressed int4 over fp8": (_groups(INT4, FLOAT8), "w4a8-fp8"),
    "compressed fp4": (_groups({"type": "float", "num_bits": 4, "group_size": 16}), "nvfp4"),
}


@pytest.mark.parametrize("label", STATED)
def test_the_stated_format_is_named(label: str) -> None:
    """Each spelling of a format leads to the name that the table of formats has."""
    stated, form = STATED[label]
    assert sample(LLAMA, quantization_config=stated).quantisation == form


@pytest.mark.parametrize(
    "stated",
    [
        {"quant_method": "something-new"},
        {},
        {"quant_algo": "FP2"},
        _groups({"type": "int", "num_bits": 3}),
        {"quant_method": "compressed-tensors"},
        {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"model.layers.0.mlp": 4}},
        {"quant_method": "fp8", "ignore": ["re:("]},
        {"quant_method": "gptq", "bits": 4, "dynamic": {".*up_proj": {"bits": 8}}},
    ],
    ids=["method", "no method", "algorithm", "bits", "no groups", "no mapping", "no pattern", "bits by module"],
)
def test_an_unknown_format_is_not_guessed(stated: dict[str, Any]) -> None:
    """Weights in a format without rules have no size."""
    with pytest.raises(Unknown, match=r"quantisation|compressed-tensors"):
        sample(LLAMA, quantization_config=stated)


ATTENTION = tuple(f"self_attn.{letter}_proj" for letter in "koqv")


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("lm_head", ("lm_head",)),
        ("mlp.gate", ("mlp.gate",)),
        ("gate", ("mlp.gate",)),
        ("model.layers.*.self_attn", ATTENTION),
        ("model.layers.*.self_attn*", ATTENTION),
        ("re:.*self_attn.*", ATTENTION),
        ("model.language_model.layers.*.self_attn*", ATTENTION),
        ("*.self_attn.k_proj", ("self_attn.k_proj",)),
        ("model.layers.*.block_sparse_moe.experts.3.w2", ("mlp.experts.down_proj",)),
    ],
)
def test_patterns_of_what_is_left_out(pattern: str, left: tuple[str, ...]) -> None:
    """Names, beginnings, wildcards and regular expressions, with the checkpoint's own names of modules."""
    stated = {"quant_method": "fp8", "modules_to_not_convert": [pattern]}
    assert sample(QWEN3_MOE, quantization_config=stated).unquantised == left


def test_a_part_of_a_name_leaves_nothing_out() -> None:
    """The router ``gate`` is not the ``gate_proj`` of an expert."""
    got = sample(QWEN3_MOE, quantization_config={"quant_method": "fp8", "ignore": ["gat"]})
    assert got.unquantised == ()


def _forms(architecture: Architecture, name: str) -> list[str]:
    return [tensor.form for layer in architecture.layers for tensor in layer.tensors if tensor.name == name]


def test_layers_that_are_left_out_are_marked_one_by_one() -> None:
    """A format that spares the first and the last layers is not said of all."""
    spared = {"quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.0*", "model.layers.5.*"]}
    got = sample(LLAMA, quantization_config=spared)
    assert _forms(got, "mlp.up_proj") == ["bf16", "", "", "", "", "bf16"]
    assert got.unquantised == ("lm_head",)


def test_names_for_each_layer_are_one_for_all() -> None:
    """A list that names a module in every layer says the same as a wildcard, and makes no new kinds of layers."""
    listed = {"quant_method": "fp8", "ignore": [f"model.layers.{n}.self_attn.q_proj" for n in range(6)]}
    got = sample(LLAMA, quantization_config=listed)
    assert (got.unquantised, len({id(layer) for layer in got.layers})) == (("self_attn.q_proj",), 1)


def test_mixed_formats_are_marked_where_they_differ() -> None:
    """Experts in four bits, attention in eight, and what is not named as it was."""
    eight = {f"model.layers.{n}.self_attn.o_proj": {"quant_algo": "FP8"} for n in range(6)}
    four = {f"model.layers.{n}.mlp.experts.{e}.up_proj": {"quant_algo": "NVFP4"} for n in range(6) for e in range(16)}
    stated = {"quant_algo": "MIXED_PRECISION", "quantized_layers": eight | four}
    got = sample(QWEN3_MOE, quantization_config=stated)
    assert got.quantisation == "nvfp4"
    assert (set(_forms(got, "mlp.experts.up_proj")), set(_forms(got, "self_attn.o_proj"))) == ({""}, {"fp8"})
    assert {"self_attn.q_proj", "mlp.gate", "mlp.experts.down_proj"} <= set(got.unquantised)


def test_mixed_formats_over_one_for_the_rest() -> None:
    """DeepSeek-V4 in NVFP4 has experts of four bits in a checkpoint of eight."""
    experts = {f"layers.{n}.ffn.experts": {"quant_algo": "NVFP4"} for n in range(6)}
    stated = {"quant_method": "fp8", "weight_block_size": [128, 128], "quantized_layers": experts}
    got = sample(DEEPSEEK, quantization_config=stated)
    assert (got.quantisation, set(_forms(got, "mlp.experts.up_proj")), got.unquantised) == ("fp8-block", {"nvfp4"}, ())


@pytest.mark.parametrize(
    ("stated", "group"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 0),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 64),
        ({"quant_method": "gptq", "bits": 4, "group_size": -1}, ROW),
        (_groups(INT4 | {"group_size": 32}), 32),
    ],
    ids=["tiles", "awq", "rows", "compressed int4"],
)
def test_scales_are_as_dense_as_the_checkpoint_says(stated: dict[str, Any], group: int) -> None:
    """Kimi-K2.5 has a scale for 32 values, four times as many as its format's usual ones."""
    assert sample(LLAMA, quantization_config=stated).group == group


def test_gptq_leaves_out_what_its_rules_say() -> None:
    """A rule with a minus leaves modules as they are."""
    stated = {"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*self_attn.*": {}}}
    assert sample(LLAMA, quantization_config=stated).unquantised == ATTENTION


@pytest.mark.parametrize(
    ("stated", "form"),
    [
        ({"quant_algo": "NVFP4"}, ""),
        ({"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}, "fp8"),
        ({"quant_algo": "NVFP4", "kv_cache_scheme": {"type": "float", "num_bits": 8, "dynamic": False}}, "fp8"),
        (_groups(FLOAT8, FLOAT8) | {"kv_cache_scheme": None}, ""),
    ],
    ids=["nothing", "algorithm", "scheme", "null"],
)
def test_weights_do_not_imply_a_cache_format(stated: dict[str, Any], form: str) -> None:
    """Weights of four bits say nothing of the cache, as configiq#112 shows."""
    assert sample(LLAMA, quantization_config=stated).kv_dtype == form
