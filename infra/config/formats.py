"""Names of number formats, as a stack and a file of scores write them."""

from __future__ import annotations

from typing import Literal

Quantisation = Literal[
    "bf16", "fp16", "fp32", "fp8", "fp8-block", "mxfp8", "w8a8-int8", "w8a16", "w4a16", "w4a16-g32", "w4a8-fp8",
    "awq", "gptq", "nvfp4", "mxfp4",
]  # fmt: skip
"""Formats of weights that a checkpoint may be in; a contract test keeps them equal to the catalog's."""

CacheFormat = Literal["auto", "fp8", "fp8_e4m3", "fp8_e5m2", "nvfp4"]
"""Formats of cached keys and values, as vLLM names them; ``auto`` is that of the model."""
