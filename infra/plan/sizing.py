"""Does it fit: weights, activation and KV cache of one rank against the memory that the engine may use."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.boards import Board
from infra.catalog.engines import Engine
from infra.catalog.models import Architecture
from infra.config.models import Model
from infra.errors import ConfigError
from infra.units import GIB, ceil_div

BF16_BYTES = 2
"""Bytes per value of weights and cache. Source: IEEE 754 derivative bfloat16."""

MAX_SEQS = 256
"""Requests in one batch; we pass it on, so that activation memory is what the plan says (count)."""

CPU_BATCHED_TOKENS = 2048
"""Tokens in one batch below 70 GiB. Source: vllm 0.32.0 engine/arg_utils.py, get_batch_defaults."""

CPU_RUNTIME_BYTES = 3 * GIB
"""Resident set of vLLM on a CPU beside weights and cache: interpreter, torch, two processes. Source: 2.9 GB seen
with a tiny model and 1 GiB of cache in the lab."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Where the memory of one rank goes (bytes), and what is left for answers."""

    total: int
    """What PyTorch sees on the GPU, or the pod's limit on a CPU."""
    usable: int
    """What the engine may ask for."""
    weights: int
    activation: int
    runtime: int
    """Outside PyTorch: driver, NCCL, interpreter."""
    graphs: int
    kv_pool: int
    """What is left for keys and values; below zero when it does not fit."""
    kv_bytes_per_token: int
    """Of one token on one rank."""
    kv_tokens: int
    """Tokens the pool holds, in whole blocks; one block is the engine's own."""
    block_tokens: int
    """Tokens in one block; a request never shares its last one."""

    def longest(self, max_context: int) -> int:
        """Longest request that fits (tokens)."""
        return max(0, min(self.kv_tokens, max_context))

    def concurrency(self, length: int) -> int:
        """Requests of one length that fit at once (count)."""
        return self.kv_tokens // (ceil_div(length, self.block_tokens) * self.block_tokens)


def architecture_of(model: Model, known: Architecture | None) -> Architecture:
    """Shape of a model: the catalog's row, or the one in the spec with its parameters counted."""
    shape = model.shape
    if shape is None:
        if known is None:
            raise ConfigError(f"model architecture {model.architecture!r} — has no known shape; give its shape")
        return known
    return Architecture(
        model.architecture, **shape.model_dump(), parameters=parameters(**shape.model_dump()), source="the stack file"
    )


def parameters(
    *, layers: int, hidden: int, heads: int, kv_heads: int, head_dim: int, intermediate: int, vocab: int, **_: int
) -> int:
    """Count the parameters of a dense Llama-like model with untied embeddings (count)."""
    attention = 2 * hidden * heads * head_dim + 2 * hidden * kv_heads * head_dim
    layer = attention + 3 * hidden * intermediate + 2 * hidden
    return layers * layer + 2 * vocab * hidden + hidden


def batched_tokens(board: Board) -> int:
    """Tokens the engine puts into one batch on this GPU.

    Source: vllm 0.32.0 engine/arg_utils.py, get_batch_defaults.
    """
    if board.gpu is None:
        return CPU_BATCHED_TOKENS
    return 16_384 if board.gpu.memory_torch_gib >= 160 else 8_192


def activation_bytes(shape: Architecture, tokens: int, ranks: int) -> int:
    """Peak of one forward pass: hidden states and feed-forward of a batch, then logits in float32.

    Source: first estimate; 1.88 GiB for Llama-3.1-8B at 8,192 tokens against 1.89 GiB in vLLM 0.19.0 logs
    (llm-d-planner 0.3.3 accuracy report).
    """
    layer = tokens * (4 * shape.hidden + 3 * shape.intermediate // ranks) * BF16_BYTES
    return layer + 2 * MAX_SEQS * 4 * shape.vocab * 4


def size(model: Model, shape: Architecture, board: Board, engine: Engine) -> Memory:
    """Divide one rank's memory as the engine does."""
    ranks = model.tensor_parallel
    weights = shape.parameters * BF16_BYTES // ranks
    per_token = shape.layers * 2 * max(1, shape.kv_heads // ranks) * shape.head_dim * BF16_BYTES
    if board.gpu is None:
        pool = round((model.kv_cache_gib or 0) * GIB)
        total = weights + pool + CPU_RUNTIME_BYTES
        return _memory(total, total, weights, 0, CPU_RUNTIME_BYTES, 0, per_token, engine)
    total = round(board.gpu.memory_torch_gib * GIB)
    usable = int(total * engine.utilisation)
    activation = activation_bytes(shape, batched_tokens(board), ranks)
    runtime = engine.non_torch_bytes[0 if ranks == 1 else 1]
    return _memory(total, usable, weights, activation, runtime, engine.graphs_bytes, per_token, engine)


def _memory(
    total: int, usable: int, weights: int, activation: int, runtime: int, graphs: int, per_token: int, engine: Engine
) -> Memory:
    pool = usable - weights - activation - runtime - graphs
    block = engine.block_tokens
    tokens = max(0, pool // (per_token * block) - 1) * block
    return Memory(total, usable, weights, activation, runtime, graphs, pool, per_token, tokens, block)
