"""What SGLang writes when it starts, from 0.3 to 0.5; its "GB" is GiB throughout."""

from __future__ import annotations

from infra.fit.wording.wording import wording

_NONE = "weights leave nothing for the cache"

SGLANG = (
    wording("Init torch distributed ends", r"mem usage=<non_torch_gib> GB", "sglang#11716 (0.5)"),
    wording("Load weight begin", r"avail mem=<free_gib> GB", "sglang#11716 (0.5)"),
    # A drafter is loaded by a second line of the same rank.
    wording("Load weight end", r"Load weight end\.(?: elapsed=<load_s> s,)?.*mem usage=<weights_gib> GB",
            "sglang#4826 (0.4), with its time since 0.5", adds="weights load"),
    wording("KV Cache is allocated", r"#tokens: <tokens>, K size: <keys_gib> GB, V size: <values_gib> GB",
            "sglang#4826 (0.4), sglang#29853 (0.5)", adds="keys values"),
    wording("KV Cache is allocated", r"#tokens: <tokens>, KV size: <pool_gib> GB",
            "sglang with MLA (0.5)", adds="pool"),
    wording("SWAKVPool mem usage", r"mem usage: <pool_gib> GB, swa size: <window_tokens>, full size: <full_tokens>",
            "sglang with sliding windows (0.5)"),
    wording("Use sliding window memory pool", r"full_layer_tokens=<full_tokens>, swa_layer_tokens=<window_tokens>",
            "sglang#18039 (0.5)"),
    wording("Memory pool end", r"avail mem=<left_gib> GB", "sglang#4826 (0.4)"),
    wording("apture", r"graph end\. (?:Time elapsed: |elapsed=)<graphs_took_s> s[.,](?: mem usage=<graphs_gib> GB)?",
            "sglang#12978 (0.5)", adds="graphs graphs_took"),
    wording("max_total_num_tokens=", r"max_total_num_tokens=<full_tokens>", "sglang#11716 (0.5)"),
    wording("leave no GPU memory for the KV cache", r"--mem-fraction-static=<utilisation>", "InferenceX#2128 (0.5)",
            failure=_NONE),
    wording("Not enough memory. Please try to increase --mem-fraction-static", r"Not enough memory",
            "sglang model_runner.py", failure=_NONE),
    wording("CUDA out of memory", r"CUDA out of memory\.(?: Tried to allocate <wanted_gib> GiB)?",
            "PyTorch's own wording", failure="CUDA ran out of memory"),
)  # fmt: skip
"""Oldest first where versions differ."""
