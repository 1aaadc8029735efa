"""Shapes of models, from their published ``config.json``; enough to count weights and key/value bytes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Architecture:
    """Shape of a dense model with grouped-query attention in every layer."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    """Width of the feed-forward layer."""
    vocab: int
    max_context: int
    """Longest context the model was trained for (tokens)."""
    parameters: int
    """All parameters, embeddings included (count)."""
    source: str

    def kv_bytes_per_token(self, bytes_per_value: float = 2) -> float:
        """Key and value bytes of one cached token over all layers and heads (bytes)."""
        return self.layers * 2 * self.kv_heads * self.head_dim * bytes_per_value


_LLAMA = "config.json of the checkpoint, copy in PyPI aiconfigurator-core 0.12.0 model_configs"

ARCHITECTURES = {
    row.name: row
    for row in (
        Architecture("meta-llama/Llama-3.1-8B-Instruct", 32, 4096, 32, 8, 128, 14336, 128256, 131072,
                     8_030_261_248, _LLAMA),
        Architecture("meta-llama/Llama-3.1-70B-Instruct", 80, 8192, 64, 8, 128, 28672, 128256, 131072,
                     70_553_706_496, _LLAMA),
        Architecture("meta-llama/Llama-3.3-70B-Instruct", 80, 8192, 64, 8, 128, 28672, 128256, 131072,
                     70_553_706_496, _LLAMA),
        Architecture("meta-llama/Llama-3.1-405B-Instruct", 126, 16384, 128, 8, 128, 53248, 128256, 131072,
                     405_853_388_800, _LLAMA),
    )
}  # fmt: skip
"""By checkpoint name. Parameter counts follow from the shapes; a test recomputes them."""
