"""Mistral's own ``params.json``, put into the words of a ``config.json``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_WORDS = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "hidden_dim": "intermediate_size",
    "tied_embeddings": "tie_word_embeddings",
}
"""Words of ``params.json``. Source: vllm 0.32.0 transformers_utils/configs/mistral.py."""

_MOE_WORDS = {
    "num_experts": "num_local_experts",
    "num_experts_per_tok": "num_experts_per_tok",
    "expert_hidden_dim": "moe_intermediate_size",
    "num_shared_experts": "n_shared_experts",
    "first_k_dense_replace": "first_k_dense_replace",
    "route_every_n": "moe_layer_freq",
}
"""Words of its ``moe`` section, from the same place."""

_LONGEST = 128_000
"""Context of models that do not say it (tokens), as engines take it; the same place."""


def is_native(config: Mapping[str, Any]) -> bool:
    """Whether a config is a ``params.json``."""
    return "architectures" not in config and "dim" in config and "n_layers" in config


def translated(config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a ``params.json`` under the names of a ``config.json``."""
    fields = {_WORDS.get(key, key): value for key, value in config.items()}
    fields.setdefault("max_position_embeddings", config.get("max_seq_len", _LONGEST))
    mixture = config.get("moe")
    fields["architectures"] = [_family(config)]
    if isinstance(mixture, Mapping):
        for word, value in mixture.items():
            fields[_MOE_WORDS.get(str(word), str(word))] = value
        fields.setdefault("topk_method", "greedy")
    if isinstance(config.get("sliding_window"), list) and isinstance(config["n_layers"], int):
        fields.update(_windows(config["sliding_window"], config["n_layers"]))
    vision = config.get("vision_encoder") or _section(config, "multimodal").get("vision_encoder_args")
    if isinstance(vision, Mapping):
        fields["vision_config"] = {"model_type": "pixtral", **vision}
    stated = config.get("quantization")
    if isinstance(stated, Mapping):
        is_fp8 = stated.get("qformat_weight") == "fp8_e4m3"
        fields["quantization_config"] = {"quant_method": "fp8"} if is_fp8 else dict(stated)
    return fields


def _family(config: Mapping[str, Any]) -> str:
    """The class that engines load it with."""
    if config.get("model_type") == "mamba":
        return "Mamba2ForCausalLM"
    mixture = _section(config, "moe")
    if config.get("qk_nope_head_dim") or mixture.get("num_shared_experts"):
        return "MistralLarge3ForCausalLM"
    return "MixtralForCausalLM" if mixture else "MistralForCausalLM"


def _section(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = config.get(key)
    return value if isinstance(value, Mapping) else {}


def _windows(windows: list[Any], layers: int) -> dict[str, Any]:
    """A list of windows stands for a pattern that repeats; null: all tokens."""
    repeated = [windows[index % len(windows)] for index in range(layers)]
    return {
        "sliding_window": next((window for window in windows if window), None),
        "layer_types": ["sliding_attention" if window else "full_attention" for window in repeated],
    }
