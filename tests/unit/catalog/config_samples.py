"""Small configs that tests bend."""

from __future__ import annotations

from typing import Any

from infra.catalog.architecture import Architecture, Layer
from infra.catalog.configs import read

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 512,
    "intermediate_size": 1024,
    "max_position_embeddings": 4096,
    "num_attention_heads": 8,
    "num_hidden_layers": 6,
    "num_key_value_heads": 2,
    "tie_word_embeddings": False,
    "vocab_size": 1000,
}

QWEN2 = LLAMA | {"architectures": ["Qwen2ForCausalLM"]}

QWEN3_MOE = LLAMA | {
    "architectures": ["Qwen3MoeForCausalLM"],
    "head_dim": 128,
    "moe_intermediate_size": 256,
    "num_experts": 16,
    "num_experts_per_tok": 2,
}

GEMMA3 = LLAMA | {"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "sliding_window": 64}

DEEPSEEK = LLAMA | {
    "architectures": ["DeepseekV3ForCausalLM"],
    "first_k_dense_replace": 1,
    "kv_lora_rank": 128,
    "moe_intermediate_size": 256,
    "n_routed_experts": 16,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "q_lora_rank": 192,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "v_head_dim": 64,
}

GLM5 = DEEPSEEK | {"architectures": ["GlmMoeDsaForCausalLM"], "index_head_dim": 128, "index_n_heads": 4}

QWEN3_NEXT = QWEN3_MOE | {
    "architectures": ["Qwen3NextForCausalLM"],
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 64,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_value_head_dim": 64,
    "num_hidden_layers": 8,
    "shared_expert_intermediate_size": 256,
}

NEMOTRON = LLAMA | {
    "architectures": ["NemotronHForCausalLM"],
    "conv_kernel": 4,
    "hybrid_override_pattern": "MEM*-E",
    "mamba_head_dim": 64,
    "mamba_num_heads": 8,
    "moe_intermediate_size": 256,
    "n_groups": 2,
    "n_routed_experts": 16,
    "num_experts_per_tok": 2,
    "ssm_state_size": 32,
}


def sample(config: dict[str, Any], **changes: Any) -> Architecture:
    """Read a config with some fields changed; None takes a field out."""
    fields = {key: value for key, value in (config | changes).items() if value is not None}
    return read(fields, name="sample", source="a test")


def kinds(architecture: Architecture) -> list[str]:
    """What each layer keeps first."""
    return [layer.caches[0].kind if layer.caches else "" for layer in architecture.layers]


def shape(layer: Layer, name: str) -> tuple[int, int, int]:
    """Rows, columns and number of a tensor."""
    return next((t.rows, t.columns, t.count) for t in layer.tensors if t.name == name)


def names(layer: Layer) -> set[str]:
    """Names of a layer's tensors."""
    return {tensor.name for tensor in layer.tensors}
