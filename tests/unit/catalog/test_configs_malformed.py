"""Configs that cannot be: refused with all that is wrong, or not known, and never a crash or a guess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.configs import FAMILIES, read, read_file
from infra.errors import ConfigError, Unknown
from tests.unit.catalog.config_samples import LLAMA, sample

CONFIGS = Path(__file__).parents[3] / "infra" / "catalog" / "checkpoints" / "configs"

JUNK: tuple[Any, ...] = (None, "x", -1, 0, 1.5, True, [], [None], {}, {"a": []}, 10**12)


def test_all_problems_are_told_at_once() -> None:
    """Three fields are wrong, and three sentences say so."""
    with pytest.raises(ConfigError) as caught:
        sample(LLAMA, hidden_size=None, vocab_size="many", num_key_value_heads=3)
    told = "\n".join(caught.value.problems)
    assert len(caught.value.problems) == 3
    assert "config of 'sample' — field 'hidden_size' is missing, and a whole number is needed" in told
    assert "field 'vocab_size' is 'many', and a whole number of at least 1 is allowed" in told
    assert "field 'num_key_value_heads' is 3, and a divisor of the 8 attention heads is allowed" in told


@pytest.mark.parametrize("value", ["8", 8.5, True, -8, 0, [8]], ids=str)
def test_a_number_that_is_none_is_refused(value: object) -> None:
    """Texts, fractions, booleans and numbers below 1 are no counts."""
    with pytest.raises(ConfigError, match="num_attention_heads"):
        sample(LLAMA, num_attention_heads=value)


def test_a_whole_number_may_have_a_point() -> None:
    """JSON writers turn 512 into 512.0."""
    assert sample(LLAMA, hidden_size=512.0).hidden == 512


def test_more_experts_than_there_are_is_refused() -> None:
    """A token cannot pass more experts than a layer has."""
    mixtral = LLAMA | {"architectures": ["MixtralForCausalLM"], "num_local_experts": 4, "num_experts_per_tok": 8}
    with pytest.raises(ConfigError, match="num_experts_per_tok"):
        sample(mixtral)


def test_a_list_shorter_than_the_layers_is_refused() -> None:
    """``layer_types`` has an entry for each layer."""
    with pytest.raises(ConfigError, match="field 'layer_types' is 2, and a list with an entry for each of 6 layers"):
        sample(LLAMA, layer_types=["full_attention"] * 2)


def test_a_field_of_a_tower_is_named_with_its_section() -> None:
    """The message says where the field is missing."""
    with pytest.raises(ConfigError, match=r"field 'vision_config\.depth' is missing"):
        sample(LLAMA, architectures=["Qwen3VLForConditionalGeneration"], vision_config={"model_type": "qwen3_vl"})


def test_an_unknown_architecture_is_named_with_what_is_known() -> None:
    """The answer is "cannot tell", with the class and the fields that are there."""
    with pytest.raises(Unknown) as caught:
        sample(LLAMA, architectures=["NewModelForCausalLM"], model_type="new")
    told = str(caught.value)
    assert "'NewModelForCausalLM' is not known here" in told
    assert "model_type new, num_hidden_layers 6, hidden_size 512" in told
    assert "LlamaForCausalLM" in told


@pytest.mark.parametrize("named", [None, [], "LlamaForCausalLM", [5]], ids=str)
def test_a_config_without_an_architecture_is_unknown(named: object) -> None:
    """No class is guessed from the rest."""
    with pytest.raises(Unknown, match="is not known here"):
        sample(LLAMA, architectures=named)


def test_an_unknown_kind_of_layer_is_not_guessed() -> None:
    """A word of ``layer_types`` without rules here stops the reading."""
    with pytest.raises(Unknown, match="layer_types names a kind of layer that is not known here: 'new_attention'"):
        sample(LLAMA, layer_types=["full_attention"] * 5 + ["new_attention"])


def test_recurrent_layers_in_a_family_without_them_are_not_guessed() -> None:
    """A known word is not enough; the family must have rules for it."""
    with pytest.raises(Unknown, match="linear_attention"):
        sample(LLAMA, layer_types=["linear_attention"] * 6)


@pytest.mark.parametrize(
    "text", ["", "{", "[1, 2]", "5", "[" * 200_000], ids=["empty", "broken", "list", "number", "nested without end"]
)
def test_a_file_that_is_no_config_is_refused(tmp_path: Path, text: str) -> None:
    """The message names the file and what to give instead."""
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"config\.json' — .*; name the checkpoint's config\.json"):
        read_file(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """As one that cannot be read."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read_file(tmp_path / "config.json")


@pytest.mark.parametrize("text", ["{[", "[]", ""], ids=["broken", "list", "empty"])
def test_a_broken_file_of_formats_beside_a_config_is_refused(tmp_path: Path, text: str) -> None:
    """It ended in a traceback, or in a plan as if nothing were quantised."""
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "hf_quant_config.json").write_text(text)
    with pytest.raises(ConfigError, match=r"hf_quant_config\.json' — "):
        read_file(tmp_path / "config.json")


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
@pytest.mark.parametrize("name", ["float8_e4m3fn", "int8", ""])
def test_a_data_type_of_unknown_size_is_not_guessed(key: str, name: str) -> None:
    """It ended in a KeyError while memory was added up."""
    with pytest.raises(Unknown, match=f"{key} '{name}' is no data type"):
        sample(LLAMA, **{key: name})


@pytest.mark.parametrize("factor", [float("nan"), float("inf"), -4.0, 0, "8", True, 1e9])
def test_a_context_cannot_be_stretched_by_that(factor: object) -> None:
    """A negative factor gave a longest context of -163,840 tokens, an infinite one a traceback."""
    with pytest.raises(ConfigError, match=r"rope_scaling\.factor"):
        sample(LLAMA, rope_scaling={"rope_type": "dynamic", "factor": factor})


@pytest.mark.parametrize(
    "stated",
    [
        {"quant_method": "gptq", "bits": 3, "group_size": 128},
        {"quant_method": "gptq", "bits": 4, "group_size": 0},
        {"quant_method": "awq", "bits": 4, "q_group_size": -128},
        {"quant_method": "awq", "bits": 4, "group_size": "128"},
        {"quant_method": "awq", "bits": 2},
        {"quant_method": "awq"},
        {"quant_method": "fp8", "weight_block_size": [64, 64]},
        {"quant_method": "fp8", "modules_to_not_convert": "lm_head"},
        {"quant_method": "fp8", "ignored_layers": ["lm_head", 3]},
        "fp8",
        [],
    ],
    ids=[
        "3 bits",
        "groups of none",
        "less than none",
        "group of a word",
        "2 bits",
        "no bits",
        "other tiles",
        "one name",
        "a number",
        "a word",
        "a list",
    ],
)
def test_a_format_that_is_not_known_is_not_taken_for_its_neighbour(stated: object) -> None:
    """GPTQ of 3 bits was planned with 4, tiles of 64 as tiles of 128, a word as no format at all."""
    with pytest.raises(Unknown, match="cannot be told from here"):
        sample(LLAMA, quantization_config=stated)


def _one_of_each_family() -> list[str]:
    """Names of checkpoints, one for each class, the quantised before the plain."""
    found: dict[str, str] = {}
    for name in sorted((CONFIGS / "x").parent.glob("*.json")):
        entry = json.loads(name.read_text())["config"]
        if entry["architectures"][0] not in found or "quantization_config" in entry:
            found[entry["architectures"][0]] = name.name
    return sorted(found.values())


@pytest.mark.parametrize("name", _one_of_each_family())
def test_no_value_of_any_field_makes_the_reader_crash(name: str) -> None:
    """Each field of a published config in turn holds junk; the answer is a refusal, "cannot tell", or a model."""
    config = json.loads((CONFIGS / name).read_text())["config"]
    for section in (config, *(value for value in config.values() if isinstance(value, dict))):
        for key, good in list(section.items()):
            for junk in JUNK:
                section[key] = junk
                assert _answer(config), f"{key} = {junk!r}"
            section[key] = good


def _answer(config: dict[str, Any]) -> bool:
    """Whether the reader answers in one of the three ways it may."""
    try:
        return read(config, name="junk", source="a test").parameters > 0
    except (ConfigError, Unknown) as error:
        return "'junk'" in str(error)


def test_each_family_has_a_published_config_here() -> None:
    """Classes that differ from another in nothing but the name are told apart from those that nothing proves."""
    read_here = {CHECKPOINTS[name].family for name in CHECKPOINTS}
    unproven = set(FAMILIES) - read_here
    assert unproven == {
        "BertModel", "DeepseekV2ForCausalLM", "Gemma3ForCausalLM", "Gemma4ForCausalLM", "Llama4ForCausalLM",
        "MistralForCausalLM", "MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "Qwen3_5ForCausalLM",
        "Qwen3_5MoeForCausalLM",
    }  # fmt: skip


@pytest.mark.parametrize("key", ["hidden_size", "vocab_size", "num_attention_heads", "max_position_embeddings"])
@pytest.mark.parametrize("count", [10**400, 1e300, 10**18], ids=["400 digits", "float", "a billion billions"])
def test_a_count_beyond_all_models_ended_in_a_traceback(key: str, count: float) -> None:
    """Or in a longest request of 10^18 tokens; it is a mistake in the file."""
    with pytest.raises(ConfigError, match=f"'{key}' is .* at most 1,000,000,000 is allowed"):
        sample(LLAMA, **{key: count})


@pytest.mark.parametrize("key", ["dtype", "torch_dtype"])
def test_weights_stored_in_float32_were_planned_at_twice_their_size(key: str) -> None:
    """Engines halve them while they load, as vllm 0.32.0 does in _resolve_auto_dtype."""
    assert sample(LLAMA, **{key: "float32"}).dtype == "bfloat16"
