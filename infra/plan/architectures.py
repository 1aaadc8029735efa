"""Which architecture a model of the stack has: from its own config file, from its shape, or by its name."""

from __future__ import annotations

from collections.abc import Mapping

from infra.catalog.architecture import Architecture
from infra.catalog.checkpoints import CHECKPOINTS
from infra.catalog.configs import read
from infra.config.models import Model, Shape
from infra.errors import Unknown


def architecture_of(name: str, model: Model, read_files: Mapping[str, Architecture | Unknown]) -> Architecture | None:
    """Find a model's architecture; None when neither the stack nor the catalog says it.

    Args:
        name: of the model within the stack.
        read_files: architectures of the models whose config file could be read.

    Raises:
        Unknown: it has a trait that no rule is known for.
    """
    if model.config:
        found = read_files.get(name)
        if isinstance(found, Unknown):
            raise found
        return found
    if model.shape:
        return read(_config(model.shape), name=model.architecture, source="the stack file")
    return CHECKPOINTS.get(model.architecture)


def _config(shape: Shape) -> dict[str, object]:
    """Write a shape as the config of a Llama whose head has weights of its own."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "num_hidden_layers": shape.layers,
        "hidden_size": shape.hidden,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "intermediate_size": shape.intermediate,
        "vocab_size": shape.vocab,
        "max_position_embeddings": shape.max_context,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
    }
