"""What a config says of a model, with the traps that its spelling lays."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.catalog.config_samples import (
    DEEPSEEK,
    GEMMA3,
    GLM5,
    LLAMA,
    NEMOTRON,
    QWEN2,
    QWEN3_MOE,
    QWEN3_NEXT,
    kinds,
    names,
    sample,
    shape,
)


def test_a_dense_layer_is_what_its_fields_say() -> None:
    """Queries, keys, values, output, three matrices of the feed-forward part and two norms."""
    layer = sample(LLAMA).layers[0]
    assert shape(layer, "self_attn.q_proj") == (512, 512, 1)
    assert shape(layer, "self_attn.k_proj") == (128, 512, 1)
    assert shape(layer, "mlp.down_proj") == (512, 1024, 1)
    assert len(layer.tensors) == 9


@pytest.mark.parametrize(("given", "size"), [(None, 64), (128, 128)], ids=["absent", "other than hidden over heads"])
def test_head_dim(given: int | None, size: int) -> None:
    """A head's size is hidden over heads only where the config does not say it."""
    layer = sample(LLAMA, head_dim=given).layers[0]
    assert (layer.caches[0].key_dim, shape(layer, "self_attn.q_proj")[0]) == (size, 8 * size)


@pytest.mark.parametrize("nest", ["text_config", "language_config", "llm_config"])
def test_fields_of_the_text_tower_may_be_nested(nest: str) -> None:
    """The tower's fields win over those of the whole, which still count."""
    inner = {key: LLAMA[key] for key in LLAMA if key not in ("architectures", "tie_word_embeddings")}
    nested = {"architectures": LLAMA["architectures"], "hidden_size": 7, "tie_word_embeddings": True, nest: inner}
    got = sample(nested)
    assert (got.hidden, got.is_tied, got.layers) == (512, True, sample(LLAMA).layers)


def test_a_tied_head_weighs_nothing() -> None:
    """Head and embedding are one tensor when the config ties them."""
    tied, own = sample(LLAMA, tie_word_embeddings=True), sample(LLAMA)
    assert own.parameters - tied.parameters == 1000 * 512
    assert (tied.is_tied, own.is_tied) == (True, False)


@pytest.mark.parametrize(
    ("family", "field", "tied"), [(LLAMA, None, False), (GEMMA3, None, True), (GEMMA3, False, False)]
)
def test_each_family_ties_as_its_own_class_does(family: dict[str, Any], field: bool | None, tied: bool) -> None:
    """Gemma leaves the field out and means yes, Llama leaves it out and means no."""
    assert sample(family, tie_word_embeddings=field).is_tied is tied


@pytest.mark.parametrize("key", ["num_experts", "n_routed_experts", "num_local_experts"])
def test_three_spellings_of_experts(key: str) -> None:
    """The number of experts has three names."""
    layer = sample(QWEN3_MOE, **{"num_experts": None, key: 16}).layers[0]
    assert (layer.experts, layer.active_experts) == (16, 2)
    assert shape(layer, "mlp.experts.down_proj") == (512, 256, 16)


def test_a_token_passes_few_experts() -> None:
    """Two of sixteen experts count as active, all the rest counts whole."""
    got = sample(QWEN3_MOE)
    expert = 3 * 512 * 256 * 6
    assert got.parameters - got.active_parameters == 14 * expert


def test_dense_layers_among_mixtures() -> None:
    """``mlp_only_layers`` and ``decoder_sparse_step`` both leave layers without experts."""
    got = sample(QWEN3_MOE, mlp_only_layers=[1], decoder_sparse_step=2)
    assert [layer.experts for layer in got.layers] == [0, 0, 0, 16, 0, 16]


def test_a_mixture_needs_no_width_of_dense_layers() -> None:
    """Qwen3.5 mixtures have no ``intermediate_size``."""
    got = sample(QWEN3_NEXT, intermediate_size=None)
    assert {layer.experts for layer in got.layers} == {16}


@pytest.mark.parametrize(
    ("config", "changes", "expected"),
    [
        (LLAMA, {}, "full " * 6),
        (LLAMA, {"sliding_window": 128}, "sliding " * 6),
        (LLAMA, {"sliding_window": 128, "layer_types": ["full_attention"] * 6}, "full " * 6),
        (QWEN2, {"sliding_window": 128, "use_sliding_window": False}, "full " * 6),
        (
            QWEN2,
            {"sliding_window": 128, "use_sliding_window": True, "max_window_layers": 4},
            "full " * 4 + "sliding " * 2,
        ),
        (GEMMA3, {}, "sliding " * 5 + "full"),
        (GEMMA3, {"sliding_window_pattern": 3}, "sliding sliding full " * 2),
        (GEMMA3, {"layer_types": ["full_attention", "sliding_attention"] * 3}, "full sliding " * 3),
        (QWEN3_NEXT, {}, "state state state full " * 2),
        (QWEN3_NEXT, {"full_attention_interval": 2}, "state full " * 4),
        (QWEN3_NEXT, {"layer_types": ["linear_attention", "full_attention"] * 4}, "state full " * 4),
    ],
    ids=[
        "plain", "window", "types over window", "window turned off", "window from a layer on", "every sixth",
        "pattern", "types", "every fourth", "interval", "linear types",
    ],
)  # fmt: skip
def test_spellings_of_what_layers_keep(config: dict[str, Any], changes: dict[str, Any], expected: str) -> None:
    """Lists of types, patterns, intervals and plain windows all say which layers keep what."""
    assert kinds(sample(config, **changes)) == expected.split()


@pytest.mark.parametrize(
    "spelling",
    [
        {},
        {"hybrid_override_pattern": None, "layers_block_type": ["mamba", "moe", "mamba", "attention", "mlp", "moe"]},
        {"hybrid_override_pattern": None, "num_hidden_layers": None,
         "layers_block_type": ["mamba", "moe", "mamba", "attention", "mlp", "moe"]},
    ],
    ids=["signs", "words", "words alone"],
)  # fmt: skip
def test_spellings_of_a_nemotron_pattern(spelling: dict[str, Any]) -> None:
    """Each layer is one part: experts and dense parts keep nothing."""
    got = sample(NEMOTRON, **spelling)
    assert kinds(got) == ["state", "", "state", "full", "", ""]
    assert [layer.experts for layer in got.layers] == [0, 16, 0, 0, 0, 16]


def test_states_of_a_delta_net() -> None:
    """The convolution keeps three inputs; the recurrent state is as the config's data type says."""
    got = sample(QWEN3_NEXT, mamba_ssm_dtype="float32")
    conv, temporal = got.layers[0].caches[0].states
    assert (conv.values, conv.inputs, conv.is_temporal) == (3 * (2 * 128 + 256), 3, False)
    assert (temporal.values, temporal.dtype, temporal.is_temporal) == (4 * 64 * 64, "float32", True)


def test_states_of_mamba2() -> None:
    """Sizes come from its heads, and not from ``expand``."""
    conv, temporal = sample(NEMOTRON, expand=9).layers[0].caches[0].states
    assert conv.values == 3 * (512 + 2 * 2 * 32)
    assert (temporal.values, temporal.dtype) == (512 * 32, "")


@pytest.mark.parametrize("head_dim", [None, 64, 192], ids=str)
def test_mla_keeps_one_latent_vector(head_dim: int | None) -> None:
    """``head_dim``, which GLM-5 gives, is not the cache's, and nor is the number of key/value heads."""
    got = sample(DEEPSEEK, head_dim=head_dim)
    cache = got.layers[0].caches[0]
    assert (cache.kind, cache.kv_heads, cache.key_dim, cache.value_dim) == ("latent", 1, 160, 0)
    assert got.kv_heads == 1


def test_mla_without_a_narrow_query() -> None:
    """DeepSeek-V2-Lite has one query matrix in place of two."""
    layer = sample(DEEPSEEK, q_lora_rank=None).layers[0]
    assert shape(layer, "self_attn.q_proj") == (8 * 96, 512, 1)
    assert "self_attn.q_a_proj" not in names(layer)


def test_the_first_layers_of_deepseek_are_dense() -> None:
    """Shared experts are dense matrices of their own part."""
    first, second = sample(DEEPSEEK).layers[:2]
    assert (first.experts, second.experts) == (0, 16)
    assert {tensor.part for tensor in second.tensors if "shared" in tensor.name} == {"shared"}


@pytest.mark.parametrize(
    ("changes", "own"),
    [
        ({}, "111111"),
        ({"indexer_types": ["full", "full", "shared", "shared", "full", "shared"]}, "110010"),
        ({"index_topk_freq": 4, "index_skip_topk_offset": 3}, "111000"),
        ({"index_topk_pattern": "FFSSFS"}, "110010"),
    ],
    ids=["all", "types", "every fourth", "signs"],
)
def test_layers_may_share_an_indexer(changes: dict[str, Any], own: str) -> None:
    """A layer without an indexer of its own neither weighs nor keeps one."""
    got = sample(GLM5, **changes)
    assert "".join(str(int(len(layer.caches) == 2)) for layer in got.layers) == own
    assert "".join(str(int("self_attn.indexer.wk" in names(layer))) for layer in got.layers) == own


def test_drafters_stand_apart() -> None:
    """Layers for multi-token prediction count only when they are asked for."""
    got = sample(DEEPSEEK, num_nextn_predict_layers=1)
    assert got.parameters == sample(DEEPSEEK).parameters
    assert sum(tensor.parameters for tensor in got.tensors(drafter=True)) > got.parameters
    assert "eh_proj" in names(got.drafter[0])


def test_qwen2_has_biases_that_no_field_tells() -> None:
    """Queries, keys and values have one, the output has none."""
    found = names(sample(QWEN2).layers[0])
    assert {name for name in found if name.endswith("bias")} == {f"self_attn.{x}_proj.bias" for x in "qkv"}


@pytest.mark.parametrize(
    ("config", "scaling", "longest"),
    [
        (LLAMA, None, 4096),
        (LLAMA, {"type": "linear", "factor": 4.0}, 16384),
        (LLAMA, {"rope_type": "dynamic", "factor": 2}, 8192),
        (LLAMA, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}, 4096),
        (LLAMA, {"rope_type": "llama3", "factor": 8.0}, 4096),
        (GEMMA3, {"rope_type": "linear", "factor": 8.0}, 4096),
        (LLAMA | {"original_max_position_embeddings": 2048}, {"rope_type": "longrope"}, 4096),
    ],
    ids=["none", "linear", "dynamic", "yarn", "llama3", "gemma3", "longrope"],
)
def test_scaled_positions(config: dict[str, Any], scaling: dict[str, Any] | None, longest: int) -> None:
    """Some scalings lengthen the stated context, some are in it already."""
    assert sample(config, rope_scaling=scaling).max_context == longest
