"""Who published a model in a small format himself: there is no larger one to compare it with."""

from __future__ import annotations

from collections.abc import Mapping

PUBLISHED: Mapping[str, tuple[str, ...]] = {
    "DeepseekV3ForCausalLM": ("fp8-block",),
    "DeepseekV32ForCausalLM": ("fp8-block",),
    "DeepseekV4ForCausalLM": ("fp8-block",),
    "MiniMaxM2ForCausalLM": ("fp8-block",),
    "GptOssForCausalLM": ("mxfp4",),
    "KimiK25ForConditionalGeneration": ("w4a16",),
}
"""By class of the checkpoint, formats that its makers trained and published it in.

Source: quantization_config in the config.json of the makers' own checkpoints (deepseek-ai, moonshotai, MiniMaxAI,
openai); none of them published a larger format.
"""
