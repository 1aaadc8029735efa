"""Models to plan, from the fields of their own configs."""

from __future__ import annotations

from typing import Any

from infra.catalog.configs import read
from infra.catalog.engines import engine_for
from infra.catalog.gpus import GPUS
from infra.fit import log as fit_log
from infra.fit.log import StartLog
from infra.plan.layout import Layout
from infra.plan.memory import Options
from infra.plan.single import Single

_LLAMA = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
          "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": False}  # fmt: skip

CONFIGS: dict[str, dict[str, Any]] = {
    "llama-8b": {**_LLAMA, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                 "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
                 "max_position_embeddings": 131072},
    "tiny": {**_LLAMA, "hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 2048, "max_position_embeddings": 32768},
}  # fmt: skip
"""Source: config.json of meta-llama/Llama-3.1-8B, and this lab's tiny model."""


def single(name: str, gpu: str | None, version: str, layout: Layout | None = None, **options: Any) -> Single:
    """Plan one replica."""
    major, minor = (int(part) for part in version.split(".")[:2])
    engine = engine_for("vllm", (major, minor))
    assert engine
    shape = read(CONFIGS[name], name=name, source="tests")
    host_pool = options.pop("host_pool", 0)
    asked = Options(version=(major, minor), **options)
    return Single(name, shape, layout or Layout(), GPUS[gpu] if gpu else None, engine, version, asked, host_pool)


def log_of(text: str) -> StartLog:
    """Read a text as the lines of a file."""
    return fit_log.read(text.splitlines(keepends=True))
