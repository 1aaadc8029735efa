"""Traits of single families, read from the published configs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.catalog.architecture import Architecture
from infra.catalog.checkpoints import checkpoint
from infra.catalog.configs import read, read_file
from infra.errors import Unknown
from tests.unit.catalog.config_samples import DEEPSEEK, LLAMA, kinds, sample, shape

PARAMS: dict[str, Any] = {
    "dim": 512,
    "head_dim": 64,
    "hidden_dim": 1024,
    "max_position_embeddings": 4096,
    "n_heads": 8,
    "n_kv_heads": 2,
    "n_layers": 6,
    "tied_embeddings": False,
    "vocab_size": 1000,
}
"""The small Llama in the words of ``params.json``."""


def _windows(architecture: Architecture) -> set[tuple[str, int]]:
    return {(cache.kind, cache.window) for layer in architecture.layers for cache in layer.caches}


def test_gemma4_has_other_heads_where_it_sees_all() -> None:
    """``global_head_dim`` and ``num_global_key_value_heads`` hold for the full layers, which have no value matrix."""
    got = checkpoint("google/gemma-4-31B-it")
    local, overall = got.layers[0], got.layers[5]
    assert [(c.kind, c.kv_heads, c.key_dim) for c in (*local.caches, *overall.caches)] == [
        ("sliding", 16, 256),
        ("full", 4, 512),
    ]
    assert "self_attn.v_proj" not in {tensor.name for tensor in overall.tensors}


def test_gemma4_layers_may_read_the_caches_of_others() -> None:
    """The last ``num_kv_shared_layers`` keep nothing and have no key matrix."""
    config = {
        **{key: value for key, value in LLAMA.items() if key != "num_hidden_layers"},
        "architectures": ["Gemma4ForCausalLM"], "num_hidden_layers": 12, "sliding_window": 64,
        "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 4,
    }  # fmt: skip
    got = sample(config)
    assert [len(layer.caches) for layer in got.layers] == [1] * 8 + [0] * 4
    assert "self_attn.k_proj" not in {tensor.name for tensor in got.layers[-1].tensors}


def test_gemma4_with_embeddings_of_each_layer_is_not_guessed() -> None:
    """A trait without rules here stops the reading."""
    with pytest.raises(Unknown, match="hidden_size_per_layer_input"):
        sample(LLAMA, architectures=["Gemma4ForCausalLM"], sliding_window=64, hidden_size_per_layer_input=256)


@pytest.mark.parametrize(
    "name", ["meta-llama/Llama-4-Scout-17B-16E-Instruct", "meta-llama/Llama-4-Maverick-17B-128E-Instruct"]
)
def test_llama4_sees_its_chunk_in_three_layers_of_four(name: str) -> None:
    """No field says it; the class does."""
    got = checkpoint(name)
    assert kinds(got)[:8] == ["chunked", "chunked", "chunked", "full"] * 2
    assert _windows(got) == {("chunked", 8192), ("full", 0)}


def test_llama4_maverick_has_experts_in_every_other_layer() -> None:
    """``interleave_moe_layer_step`` leaves dense layers of another width."""
    first, second = checkpoint("meta-llama/Llama-4-Maverick-17B-128E-Instruct").layers[:2]
    assert (first.experts, second.experts) == (0, 128)
    assert shape(first, "mlp.up_proj") == (16384, 5120, 1)


def test_deepseek_v4_keeps_windows_and_shared_entries() -> None:
    """Layers differ by how many tokens share an entry; the dense ones have an indexer that picks from them."""
    got = checkpoint("deepseek-ai/DeepSeek-V4-Flash")
    kept = [[(c.kind, c.compress) for c in layer.caches if not c.dtype] for layer in got.layers[1:4]]
    assert kept == [
        [("sliding", 1)],
        [("sliding", 1), ("latent", 4), ("index", 4)],
        [("sliding", 1), ("latent", 128)],
    ]


def test_deepseek_v4_compressors_keep_their_last_inputs() -> None:
    """Their state is a window in float32 whose blocks have a size of their own."""
    layer = checkpoint("deepseek-ai/DeepSeek-V4-Flash").layers[2]
    states = [(c.key_dim, c.window, c.block_tokens) for c in layer.caches if c.dtype == "float32"]
    assert states == [(2048, 8, 4), (512, 8, 4)]


@pytest.mark.parametrize(("held", "form"), [("fp4", "mxfp4"), ("fp8", "")])
def test_deepseek_v4_experts_are_held_as_the_config_says(held: str, form: str) -> None:
    """Four bits are marked on the experts, eight are the checkpoint's own format."""
    assert _v4_expert_form({"expert_dtype": held}) == form


def test_deepseek_v4_without_a_word_on_its_experts_is_not_guessed() -> None:
    """Both kinds are published, and one takes twice the memory."""
    with pytest.raises(Unknown, match="expert_dtype"):
        _v4_expert_form({"expert_dtype": None})


def _v4_expert_form(changes: dict[str, Any]) -> str:
    config = Path(__file__).parents[3] / "infra/catalog/checkpoints/configs/deepseek-ai--DeepSeek-V4-Flash.json"
    got = read({**json.loads(config.read_text())["config"], **changes}, name="v4", source="a test")
    return next(tensor.form for tensor in got.layers[0].tensors if tensor.part == "expert")


def test_whisper_keeps_what_it_heard() -> None:
    """Encoder layers keep nothing, decoder layers their own tokens and 1,500 positions."""
    got = checkpoint("openai/whisper-large-v3")
    assert [len(layer.caches) for layer in got.layers] == [0] * 32 + [2] * 32
    assert _windows(got) == {("full", 0), ("cross", 1500)}


def test_encoders_keep_nothing() -> None:
    """An embedding model has no cache, and its first positions are not a text's."""
    got = checkpoint("BAAI/bge-m3")
    assert (_windows(got), got.max_context) == (set(), 8192)


def test_a_vision_tower_weighs_and_keeps_nothing() -> None:
    """Its tensors are of their own part, beside the layers."""
    got = checkpoint("Qwen/Qwen3-VL-8B-Instruct")
    vision = sum(tensor.parameters for tensor in got.outside if tensor.part == "vision")
    assert (vision, len(got.layers)) == (576_388_336, 36)


def test_an_unknown_vision_tower_is_not_guessed() -> None:
    """The text tower alone would be too small a figure."""
    with pytest.raises(Unknown, match="vision tower 'new_tower' is not known"):
        sample(LLAMA, vision_config={"model_type": "new_tower"})


def test_mistral_params_say_the_same_as_a_config() -> None:
    """``params.json`` has other words for the same model."""
    got = read(PARAMS, name="sample", source="a test")
    assert (got.family, got.layers, got.outside) == (
        "MistralForCausalLM",
        sample(LLAMA).layers,
        sample(LLAMA).outside,
    )


def test_mistral_params_of_a_mixture() -> None:
    """A ``moe`` section makes a Mixtral of it."""
    got = read({**PARAMS, "moe": {"num_experts": 8, "num_experts_per_tok": 2}}, name="sample", source="a test")
    assert (got.family, got.layers[0].experts, got.layers[0].active_experts) == ("MixtralForCausalLM", 8, 2)


def test_mistral_params_with_a_list_of_windows() -> None:
    """The list repeats over the layers; null sees all."""
    got = read({**PARAMS, "sliding_window": [None, 128, 128]}, name="sample", source="a test")
    assert kinds(got) == ["full", "sliding", "sliding"] * 2


def test_mistral_params_in_eight_bits() -> None:
    """``qformat_weight`` states the format."""
    got = read(
        {**PARAMS, "quantization": {"qformat_weight": "fp8_e4m3", "qscheme_act": "TENSOR"}}, name="s", source="t"
    )
    assert got.quantisation == "fp8"


def test_mistral_params_with_mla_and_shared_experts() -> None:
    """Mistral Large 3 is a DeepSeek in other words."""
    latent = {key: DEEPSEEK[key] for key in DEEPSEEK if "lora" in key or key.startswith(("qk", "v_head"))}
    mixture = {"num_experts": 16, "num_experts_per_tok": 2, "expert_hidden_dim": 256, "num_shared_experts": 1,
               "first_k_dense_replace": 1}  # fmt: skip
    got = read({**PARAMS, **latent, "moe": mixture}, name="sample", source="a test")
    assert (got.family, got.parameters) == (
        "MistralLarge3ForCausalLM",
        sample(DEEPSEEK, topk_method="greedy").parameters,
    )


def test_a_config_file_with_infinity_is_read(tmp_path: Path) -> None:
    """Nemotron's ``time_step_limit`` is no strict JSON, and no reason to refuse it."""
    text = json.dumps(LLAMA)[:-1] + ', "time_step_limit": [0.0, Infinity]}'
    (tmp_path / "config.json").write_text(text)
    assert read_file(tmp_path / "config.json", name="sample").layers == sample(LLAMA).layers


def test_the_format_may_stand_in_a_file_beside_the_config(tmp_path: Path) -> None:
    """ModelOpt writes ``hf_quant_config.json``, which engines read when the config states no format."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    stated = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    (tmp_path / "hf_quant_config.json").write_text(json.dumps(stated))
    got = read_file(tmp_path / "config.json")
    assert (got.quantisation, got.kv_dtype, got.unquantised) == ("nvfp4", "fp8", ("lm_head",))
