"""What vLLM writes when it starts, from 0.2 to 0.32."""

from __future__ import annotations

from infra.fit.wording.wording import wording

_SHORT = "the longest request does not fit"
_NONE = "weights and activation leave nothing for the cache"
_OUT = "CUDA ran out of memory"

VLLM = (
    # Weights and load. "GB" is GiB in all of them: bytes are divided by 2**30.
    wording("oading model weights took", r"oading model weights took <weights_gib> GB", "vllm#13061 (0.7)"),
    wording("odel loading took", r"odel loading took <weights_gib> Gi?B(?: memory)? and <load_s> seconds",
            "vllm#14011 (0.7), vllm 0.32.0 v1/worker/gpu_model_runner.py"),
    wording("Loading weights took", r"Loading weights took <read_s> seconds", "vllm 0.32.0 default_loader.py"),
    # The profile of 0.6, one figure a line, and of 0.6.6 to 0.8, all in one.
    wording("total_gpu_memory", r"total_gpu_memory\s+<total_gib>GiB", "vllm#10511 (0.6.5)"),
    wording("gpu_memory_utilization", r"worker\.py:\d+\] gpu_memory_utilization\s+<utilisation>$",
            "vllm#10511 (0.6.5)"),
    wording("the current vLLM instance can use", r"can use\s+<usable_gib>GiB", "vllm#10511 (0.6.5)"),
    wording("model weights take", r"model weights take\s+<weights_gib>GiB$", "vllm#10511 (0.6.5)"),
    wording("non_torch_memory", r"non_torch_memory\s+<non_torch_gib>GiB", "vllm#10511 (0.6.5)"),
    wording("PyTorch activation peak", r"peak memory\s+<activation_gib>GiB", "vllm#10511 (0.6.5)"),
    wording("available_kv_cache_memory", r"available_kv_cache_memory\s+<pool_gib>GiB", "vllm#10511 (0.6.5)"),
    wording("x gpu_memory_utilization",
            r"total_gpu_memory \(<total_gib>GiB\) x gpu_memory_utilization \(<utilisation>\) = <usable_gib>GiB",
            "gateway-api-inference-extension#550 (0.8)"),
    wording("model weights take",
            r"weights take <weights_gib>GiB; non_torch_memory takes <non_torch_gib>GiB; PyTorch activation peak memory"
            r" takes <activation_gib>GiB; the rest of the memory reserved for KV Cache is <pool_gib>GiB",
            "gateway-api-inference-extension#550 (0.8)"),
    # The profile of 0.9 and later; some of it at debug level only.
    wording("torch peak memory increase", r"torch peak memory increase: <activation_gib>GiB",
            "vllm 0.32.0 utils/mem_utils.py"),
    wording("non-torch forward increase", r"non-torch forward increase memory: <non_torch_gib>GiB",
            "vllm 0.9 utils, from memory"),
    wording("weights memory:", r"weights memory: <weights_gib>GiB", "vllm 0.32.0 utils/mem_utils.py"),
    wording("Free memory on device", r"\(<free_gib>/<total_gib> GiB\) on startup\. Desired GPU memory utilization is"
            r" \(<utilisation>, <usable_gib> GiB\)", "vllm#21489 (0.11)"),
    wording("GiB for weight", r"Actual usage(?: is|:) <weights_gib> GiB for weights?, <activation_gib> GiB for peak"
            r" activation, <non_torch_gib> GiB for non-torch memory, (?:and )?<graphs_gib> GiB for",
            "vllm#21489 (0.11), vllm-ascend#8289"),
    wording("for consumed memory", r"Actual usage is <consumed_gib> GiB for consumed memory \(weights \+ non-torch\),"
            r" <activation_graphs_gib> GiB for peak activation, and <graphs_gib> GiB for",
            "vllm 0.32.0 v1/worker/gpu_worker.py; its peak holds the graphs' estimate too, vllm#57936"),
    # CUDA graphs.
    wording("Graph capturing finished", r"finished in <graphs_took_s> secs?(?:, took <graphs_gib> GiB)?",
            "vllm-windows-build#4 (0.21)"),
    wording("Estimated CUDA graph memory", r"memory: <graphs_estimated_gib> GiB total", "club-3090#127 (0.21)"),
    wording("CUDA graph memory profiling is enabled", r"utilization=<utilisation> is equivalent to"
            r" --gpu-memory-utilization=<utilisation_before>", "club-3090#127 (0.21)"),
    wording("CUDA graph pool memory", r"memory: <graphs_gib> GiB \(actual\), <graphs_estimated_gib> GiB \(estimated\)",
            "vllm-windows-build#4 (0.21)"),
    # The cache.
    wording("Available KV cache memory", r"Available KV cache memory: <pool_gib> GiB", "vllm#21348 (0.9)"),
    wording("as specified by kv_cache_memory_bytes", r"memory <free_gib> GiB, reserved <pool_gib> GiB",
            "vllm 0.32.0 v1/worker/gpu_worker.py"),
    wording("for KV cache on node", r"set \(<pool_gib>/[\d.]+\) GiB for KV cache",
            "vllm 0.32.0 v1/worker/cpu_worker.py"),
    wording("blocks:", r"# (?:GPU|CUDA|cuda) blocks: <blocks>", "vllm#2418 (0.2), vllm#12569 (0.7)"),
    wording("KV cache size:", r"(?:GPU|CPU|XPU) (?:\+ host )?KV cache size: <tokens> tokens", "vllm#21348 (0.9)"),
    wording("Maximum concurrency for", r"concurrency for <length> tokens per request: <concurrency>x",
            "vllm#12569 (0.7), vllm#28228 (0.11)"),
    wording("attention block size to", r"attention block size to <block_tokens> tokens",
            "vllm 0.32.0 platforms/interface.py"),
    # Time.
    wording("torch.compile t", r"torch\.compile (?:takes|took) <compile_s> s in total", "vllm#28228 (0.11)"),
    wording("init engine (profile", r"warmup model\) took <engine_s> s", "vllm-windows-build#4 (0.21)"),
    # What stops it.
    wording("that can be stored in KV cache",
            r"max seq len \(<asked>\) is larger than the maximum number of tokens that can be stored in KV cache"
            r" \(<longest>\)", "vllm#2418 (0.2)", failure=_SHORT),
    wording("KV cache is needed",
            r"max seq len \(<asked>\), \(?<needed_gib> GiB KV cache is needed, which is larger than the available KV"
            r" cache memory \(<pool_gib> GiB\)(?:\..*estimated maximum model length is <longest>)?",
            "vllm#16118 (0.8), vllm#34076 (0.15)", failure=_SHORT),
    wording("No available memory for the cache blocks", r"No available memory", "vllm#2248 (0.4)", failure=_NONE),
    wording("is less than desired GPU memory utilization",
            r"\(<free_gib>/<total_gib> GiB\) on startup is less than desired GPU memory utilization \(<utilisation>",
            "vllm#20305 (0.9)", failure="something else holds memory of the GPU"),
    wording("CUDA out of memory", r"CUDA out of memory\.(?: Tried to allocate <wanted_gib> GiB)?",
            "vllm#10637 (0.6)", failure=_OUT),
)  # fmt: skip
"""Oldest first where versions differ."""
