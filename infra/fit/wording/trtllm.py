"""What TensorRT-LLM writes when it starts, from 0.8 to 1.1, both with engines and with PyTorch."""

from __future__ import annotations

from infra.fit.wording.wording import wording

TRTLLM = (
    # With built engines.
    wording("Loaded engine size", r"Loaded engine size: <weights_mib> MiB", "TensorRT-LLM#2398 (0.14)"),
    wording("Engine load time", r"Engine load time <load_ms> ms", "TensorRT-LLM#4028 (0.21)"),
    wording("bytes for k/v cache", r"Allocate <pool_bytes> bytes for k/v cache", "TensorRT-LLM#1400 (0.8)"),
    wording("tokens in paged KV cache", r"Using <tokens> tokens in paged KV cache", "TensorRT-LLM#224 (0.5)"),
    wording("calculating max tokens in paged kv cache", r"total: <total_gib> GiB, available: <free_gib> GiB",
            "TensorRT-LLM#2268 (0.13)"),
    wording("KV cache primary pool", r"blocks in KV cache primary pool: <blocks>", "TensorRT-LLM#2268 (0.13)"),
    wording("Number of tokens per block", r"tokens per block: <block_tokens>", "tritonserver tutorials#150"),
    wording("max tokens in paged KV cache (", r"Allocated <pool_gib> GiB for max tokens in paged KV cache \(<tokens>\)",
            "tritonserver tutorials#150"),
    # With PyTorch.
    wording("for model weights", r"Rank \d+ uses <weights_gib> GB for model weights",
            "TensorRT-LLM#6294 (0.20); 8.46 for Llama-3.1-8B FP8, so GiB"),
    wording("after loading model weights (inside torch)", r"profiling: <weights_gib> GiB",
            "TensorRT-LLM test_e2e.py (0.20)"),
    wording("dynamically allocated during inference (inside torch)", r"profiling: <activation_gib> GiB",
            "TensorRT-LLM test_e2e.py (0.20)"),
    wording("Memory used outside torch", r"profiling: <non_torch_gib> GiB",
            "TensorRT-LLM test_e2e.py (0.20); CUDA graphs are in it"),
    wording("Peak memory during memory usage profiling",
            r"non-torch\): <peak_gib> GiB, available KV cache memory when calculating max tokens: <pool_gib> GiB"
            r"(?:, fraction is set <utilisation>, kv size (?:per token )?is <token_cost_bytes>"
            r"(?:\. device total memory <total_gib> GiB)?)?", "TensorRT-LLM pyexecutor/_util.py (0.18 to 1.1)"),
    wording("CUDA out of memory", r"CUDA out of memory\.(?: Tried to allocate <wanted_gib> GiB)?",
            "PyTorch's own wording", failure="CUDA ran out of memory"),
)  # fmt: skip
"""Oldest first where versions differ."""
