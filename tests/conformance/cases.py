"""Tiny configs of every kind of layer that keeps something, and the settings they are divided with."""

from __future__ import annotations

from typing import Any

MIB = 2**20

Config = dict[str, Any]

DENSE: Config = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 256,
    "max_position_embeddings": 16384, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "hidden_act": "silu",
    "tie_word_embeddings": False, "torch_dtype": "bfloat16", "attention_bias": False, "mlp_bias": False,
}  # fmt: skip

MOE: Config = {
    "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "norm_topk_prob": True,
    "decoder_sparse_step": 1, "mlp_only_layers": [],
}  # fmt: skip

MQA = DENSE | {"num_key_value_heads": 1}

BIASED = DENSE | {
    "architectures": ["Qwen2ForCausalLM"],
    "model_type": "qwen2",
    "hidden_size": 128,
    "use_sliding_window": False,
}

TIED = DENSE | {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "tie_word_embeddings": True}

SLIDING = DENSE | {"architectures": ["MistralForCausalLM"], "model_type": "mistral", "sliding_window": 256}

MLA = DENSE | {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "num_key_value_heads": 4,
    "kv_lora_rank": 512, "q_lora_rank": 32, "qk_nope_head_dim": 32, "qk_rope_head_dim": 64, "v_head_dim": 32,
    "n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
    "first_k_dense_replace": 1, "moe_layer_freq": 1, "n_group": 1, "topk_group": 1, "topk_method": "noaux_tc",
    "scoring_func": "sigmoid", "norm_topk_prob": True, "routed_scaling_factor": 1.0, "num_nextn_predict_layers": 1,
}  # fmt: skip

SPARSE = MLA | {
    "architectures": ["DeepseekV32ForCausalLM"], "model_type": "deepseek_v32", "index_head_dim": 128,
    "index_n_heads": 4, "index_topk": 64,
}  # fmt: skip

GEMMA3 = DENSE | {
    "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "num_hidden_layers": 12,
    "sliding_window": 256, "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 2,
    "query_pre_attn_scalar": 32, "hidden_activation": "gelu_pytorch_tanh", "rope_local_base_freq": 10000.0,
    "tie_word_embeddings": True,
}  # fmt: skip

GEMMA3_REST = GEMMA3 | {
    "num_hidden_layers": 13,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 2 + ["sliding_attention"],
}  # fmt: skip

GEMMA4 = GEMMA3 | {
    "architectures": ["Gemma4ForCausalLM"], "model_type": "gemma4_text", "num_key_value_heads": 4,
    "global_head_dim": 64, "num_global_key_value_heads": 1, "attention_k_eq_v": False,
    "hidden_size_per_layer_input": 0,
}  # fmt: skip

GPT_OSS = DENSE | {
    "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 2, "num_local_experts": 4, "num_experts_per_tok": 2,
}  # fmt: skip

LLAMA4 = DENSE | {
    "architectures": ["Llama4ForCausalLM"], "model_type": "llama4_text", "attention_chunk_size": 512,
    "num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size_mlp": 128, "moe_layers": [1, 3],
    "layer_types": ["chunked_attention"] * 3 + ["full_attention"], "no_rope_layers": [1, 1, 1, 0],
    "interleave_moe_layer_step": 2, "use_qk_norm": True, "attn_temperature_tuning": False,
}  # fmt: skip

GDN = DENSE | MOE | {
    "architectures": ["Qwen3NextForCausalLM"], "model_type": "qwen3_next", "num_hidden_layers": 8,
    "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 2, "full_attention_interval": 4,
    "linear_conv_kernel_dim": 4, "linear_key_head_dim": 32, "linear_num_key_heads": 4, "linear_num_value_heads": 16,
    "linear_value_head_dim": 32, "shared_expert_intermediate_size": 32, "num_nextn_predict_layers": 1,
}  # fmt: skip

MAMBA = DENSE | {
    "architectures": ["NemotronHForCausalLM"], "model_type": "nemotron_h", "num_hidden_layers": 9,
    "hybrid_override_pattern": "M-M*M-M*M", "mamba_num_heads": 16, "mamba_head_dim": 32, "ssm_state_size": 64,
    "n_groups": 2, "conv_kernel": 4, "chunk_size": 64, "expand": 2, "mlp_hidden_act": "relu2", "use_conv_bias": True,
    "mamba_hidden_act": "silu", "attention_head_dim": 32, "layer_norm_epsilon": 1e-5, "residual_in_fp32": False,
}  # fmt: skip

SETTINGS: Config = {
    "tensor": 1, "pipeline": 1, "kv_dtype": "auto", "block_tokens": 128, "max_len": 4096, "batched_tokens": 512,
    "max_seqs": 8, "prefix_caching": True, "speculative_tokens": 0, "pool_bytes": 96 * MIB + 12345,
    "sparse": False,
}  # fmt: skip


def case(config: Config, **settings: Any) -> Config:
    """Put a config together with what differs from the usual settings."""
    return {"config": config, **SETTINGS, **settings}


CASES: dict[str, Config] = {
    "grouped-query": case(DENSE),
    "grouped-query-odd-length": case(DENSE, max_len=4001),
    "grouped-query-fp8": case(DENSE, kv_dtype="fp8"),
    "grouped-query-on-2": case(DENSE, tensor=2),
    "heads-copied-on-4": case(DENSE, tensor=4),
    "grouped-query-in-2-stages": case(DENSE, pipeline=2),
    "stages-of-unequal-size": case(DENSE | {"num_hidden_layers": 7}, pipeline=3),
    "multi-query": case(MQA),
    "tied-embeddings": case(TIED),
    "biases": case(BIASED),
    "sliding-window": case(SLIDING),
    "mla": case(MLA, block_tokens=16),
    "mla-on-2": case(MLA, block_tokens=16, tensor=2),
    "mla-in-3-stages": case(MLA | {"num_hidden_layers": 5}, block_tokens=16, pipeline=3),
    "mla-fp8": case(MLA, block_tokens=16, kv_dtype="fp8"),
    "sparse-mla": case(SPARSE, block_tokens=16, sparse=True),
    "sparse-mla-packed": case(SPARSE, block_tokens=16, sparse=True, kv_dtype="fp8_ds_mla", tensor=2),
    "sparse-mla-packed-fp4": case(SPARSE, block_tokens=16, sparse=True, kv_dtype="nvfp4_ds_mla"),
    "mla-drafter": case(MLA, block_tokens=16, speculative_tokens=1),
    "sliding-and-full": case(GEMMA3),
    "sliding-and-full-in-2-stages": case(GEMMA3, pipeline=2),
    "sliding-and-full-with-a-rest": case(GEMMA3_REST),
    "pages-of-two-sizes": case(GEMMA4),
    "pages-of-two-sizes-small-blocks": case(GEMMA4, block_tokens=32),
    "pages-of-two-sizes-fp8": case(GEMMA4, kv_dtype="fp8"),
    "sinks": case(GPT_OSS),
    "sinks-on-2": case(GPT_OSS, tensor=2),
    "chunked": case(LLAMA4),
    "chunked-experts-on-2": case(LLAMA4, tensor=2),
    "gated-delta-net": case(GDN),
    "gated-delta-net-on-2": case(GDN, tensor=2),
    "gated-delta-net-small-blocks": case(GDN, block_tokens=32),
    "gated-delta-net-without-prefix-caching": case(GDN, prefix_caching=False),
    "gated-delta-net-drafter": case(GDN, speculative_tokens=3, block_tokens=32),
    "mamba-2": case(MAMBA),
    "mamba-2-in-2-stages": case(MAMBA, pipeline=2),
    "mamba-2-without-prefix-caching": case(MAMBA, prefix_caching=False),
    "mamba-2-small-blocks": case(MAMBA, block_tokens=32),
}
"""By what is special in each."""
