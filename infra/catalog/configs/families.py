"""Classes of checkpoints that are known here, each with the function that reads it."""

from __future__ import annotations

from collections.abc import Callable

from infra.catalog.architecture import Architecture
from infra.catalog.configs import compressed, deepseek, dense, encoders, hybrid, sliding
from infra.catalog.configs.fields import Fields
from infra.errors import Unknown

Reader = Callable[[Fields], Architecture]
"""Makes an architecture of fields."""

FAMILIES: dict[str, Reader] = {
    "LlamaForCausalLM": dense.llama,
    "MistralForCausalLM": dense.llama,
    "Mistral3ForConditionalGeneration": dense.llama,
    "PixtralForConditionalGeneration": dense.llama,
    "Phi3ForCausalLM": dense.phi3,
    "Qwen2ForCausalLM": dense.qwen2,
    "Qwen3ForCausalLM": dense.qwen3,
    "Qwen3VLForConditionalGeneration": dense.qwen3,
    "Qwen3MoeForCausalLM": dense.qwen3_moe,
    "Qwen3VLMoeForConditionalGeneration": dense.qwen3_moe,
    "MixtralForCausalLM": dense.mixtral,
    "GptOssForCausalLM": dense.gpt_oss,
    "MiniMaxM2ForCausalLM": dense.minimax_m2,
    "Qwen3NextForCausalLM": hybrid.qwen3_next,
    "Qwen3_5ForConditionalGeneration": hybrid.qwen3_5,
    "Qwen3_5MoeForConditionalGeneration": hybrid.qwen3_5,
    "Qwen3_5ForCausalLM": hybrid.qwen3_5,
    "Qwen3_5MoeForCausalLM": hybrid.qwen3_5,
    "NemotronHForCausalLM": hybrid.nemotron_h,
    "DeepseekV2ForCausalLM": deepseek.deepseek,
    "DeepseekV3ForCausalLM": deepseek.deepseek,
    "KimiK25ForConditionalGeneration": deepseek.deepseek,
    "MistralLarge3ForCausalLM": deepseek.deepseek,
    "DeepseekV32ForCausalLM": deepseek.deepseek_sparse,
    "GlmMoeDsaForCausalLM": deepseek.deepseek_sparse,
    "Glm4MoeForCausalLM": deepseek.glm4_moe,
    "DeepseekV4ForCausalLM": compressed.deepseek_v4,
    "Gemma3ForCausalLM": sliding.gemma3,
    "Gemma3ForConditionalGeneration": sliding.gemma3,
    "Gemma4ForConditionalGeneration": sliding.gemma4,
    "Gemma4ForCausalLM": sliding.gemma4,
    "Llama4ForConditionalGeneration": sliding.llama4,
    "Llama4ForCausalLM": sliding.llama4,
    "WhisperForConditionalGeneration": encoders.whisper,
    "XLMRobertaModel": encoders.bert,
    "BertModel": encoders.bert,
}
"""By the class that ``architectures`` names."""


def family_of(fields: Fields) -> tuple[str, Reader]:
    """Find the class of a checkpoint and its reader; Unknown tells what the config says all the same."""
    named = fields.whole.get("architectures")
    family = str(named[0]) if isinstance(named, list) and named else ""
    if family not in FAMILIES:
        raise Unknown(_unknown(fields, family))
    return family, FAMILIES[family]


def _unknown(fields: Fields, family: str) -> str:
    said = ", ".join(
        f"{key} {fields.get(key)}"
        for key in ("model_type", "num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size")
        if fields.get(key) is not None
    )
    return (
        f"config of {fields.name!r} — architecture {family or 'without a name'!r} is not known here, so its memory "
        f"cannot be told; the config says {said or 'nothing that is known'}; "
        f"known are {', '.join(sorted(FAMILIES))}"
    )
