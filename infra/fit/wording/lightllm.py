"""What LightLLM writes when it starts: the cache in three lines, the first with the prefix of its logger."""

from __future__ import annotations

from infra.fit.wording.wording import wording

LIGHTLLM = (
    # Its "GB" and "MB" are powers of two.
    wording("GB space is available after load the model weight", r"<pool_gib> GB space is available",
            "lightllm common/mem_manager.py, profile_size (1.0)"),
    wording("MB is the size of one token kv cache", r"<token_cost_mib> MB is the size of one token",
            "lightllm common/mem_manager.py, profile_size (1.0)"),
    wording("is the profiled max_total_token_num", r"<tokens> is the profiled .*mem_fraction <utilisation>",
            "lightllm common/mem_manager.py, profile_size (1.0)"),
)  # fmt: skip
"""Oldest first where versions differ."""
