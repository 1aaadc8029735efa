"""What Text Generation Inference writes when it starts, from 1.0 to 3.3; it logs tokens, and no bytes."""

from __future__ import annotations

from infra.fit.wording.wording import wording

TGI = (
    wording("KV-cache blocks:", r"KV-cache blocks: <blocks>, size: <block_tokens>",
            "text-generation-inference#2842 (3.0)"),
    wording("Setting max batch total tokens to", r"total tokens to <tokens>", "text-generation-inference#2842 (3.0)"),
    wording("Maximum total tokens defaulted to", r"defaulted to <length>", "text-generation-inference#2842 (3.0)"),
    wording("Not enough VRAM to run the model", r"Not enough VRAM", "launcher/src/main.rs (3.3.7)",
            failure="weights leave nothing for the cache"),
    wording("Not enough memory to handle", r"Not enough memory to handle \d+ prefill tokens",
            "flash_causal_lm.py (2.3.0 to 3.3.7)", failure="one batch of prompts does not fit"),
)  # fmt: skip
"""Oldest first where versions differ."""
