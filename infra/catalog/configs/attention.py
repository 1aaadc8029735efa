"""Attention of one layer: grouped-query heads, or MLA with its latent vector and a sparse indexer."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog.architecture import Cache, Kind, Layer, Part, Split, Tensor
from infra.catalog.configs.fields import Fields


def vector(name: str, values: int, part: Part = "norm", split: Split = "none") -> Tensor:
    """A bias, a norm or another tensor that is multiplied or added value by value."""
    return Tensor(name, values, 1, part, split)


def join(*parts: Layer) -> Layer:
    """One layer out of its parts."""
    return Layer(
        tuple(tensor for part in parts for tensor in part.tensors),
        tuple(cache for part in parts for cache in part.caches),
        max(part.experts for part in parts),
        max(part.active_experts for part in parts),
    )


@dataclass(frozen=True, slots=True)
class Heads:
    """Sizes of grouped-query attention."""

    hidden: int
    count: int
    kv: int
    size: int
    """Values of one head (count)."""
    v_size: int = 0
    """Values of one value head, where it differs from ``size`` (count)."""

    @property
    def value_size(self) -> int:
        """Values of one value head (count)."""
        return self.v_size or self.size


def heads(fields: Fields, *, size: int | None = None) -> Heads:
    """Read the sizes; a head's is hidden over heads only where the config does not say it."""
    hidden, count = fields.count("hidden_size"), fields.count("num_attention_heads")
    kv = fields.count("num_key_value_heads", default=count)
    if count % kv:
        fields.problem("num_key_value_heads", kv, f"a divisor of the {count} attention heads")
    if size is None:
        size = fields.count("head_dim", "attention_head_dim", default=0)
    if not size and hidden % count and not fields.problems:
        fields.problem("hidden_size", hidden, f"a multiple of the {count} attention heads, when head_dim is not given,")
    return Heads(hidden, count, kv, size or max(1, hidden // count))


def grouped(
    heads: Heads,
    cache: Kind = "full",
    window: int = 0,
    *,
    bias: bool = False,
    out_bias: bool = False,
    extra: tuple[Tensor, ...] = (),
    gated: bool = False,
    value_is_key: bool = False,
) -> Layer:
    """Grouped-query attention.

    Args:
        heads: its sizes.
        cache: what it keeps.
        window: tokens of the window or the chunk.
        bias: whether queries, keys and values have one.
        out_bias: whether the output has one.
        extra: norms of queries and keys, sinks.
        gated: whether the output is gated, which doubles the query matrix.
        value_is_key: whether values come out of the key matrix.
    """
    query, key, value = heads.count * heads.size, heads.kv * heads.size, heads.kv * heads.value_size
    queries = query * 2 if gated else query
    tensors = [
        Tensor("self_attn.q_proj", queries, heads.hidden, "attention", "columns"),
        Tensor("self_attn.k_proj", key, heads.hidden, "attention", "kv"),
        Tensor("self_attn.o_proj", heads.hidden, heads.count * heads.value_size, "attention", "rows"),
    ]
    if not value_is_key:
        tensors.insert(2, Tensor("self_attn.v_proj", value, heads.hidden, "attention", "kv"))
    if bias:
        tensors.append(vector("self_attn.q_proj.bias", queries, "attention", "columns"))
        tensors.append(vector("self_attn.k_proj.bias", key, "attention", "kv"))
        tensors.append(vector("self_attn.v_proj.bias", value, "attention", "kv"))
    if out_bias:
        tensors.append(vector("self_attn.o_proj.bias", heads.hidden, "attention"))
    return Layer((*tensors, *extra), (Cache(cache, heads.kv, heads.size, heads.value_size, window),))


def head_norms(heads: Heads) -> tuple[Tensor, ...]:
    """Norms of each query and key head."""
    return vector("self_attn.q_norm", heads.size), vector("self_attn.k_norm", heads.size)


def width_norms(heads: Heads) -> tuple[Tensor, ...]:
    """Norms over all query heads and over all key heads at once."""
    return (
        vector("self_attn.q_norm", heads.count * heads.size, split="columns"),
        vector("self_attn.k_norm", heads.kv * heads.size, split="kv"),
    )


def latent(fields: Fields) -> Layer:
    """MLA: queries and keys through narrow matrices, one latent vector kept for all heads.

    The latent matrices are whole on every rank, as the vector is. Source: vllm 0.32.0 layers/mla.py, deepseek_v2.py.
    """
    hidden, count = fields.count("hidden_size"), fields.count("num_attention_heads")
    query_rank = fields.count("q_lora_rank", default=0, least=0)
    rank, rope = fields.count("kv_lora_rank"), fields.count("qk_rope_head_dim")
    plain, value = fields.count("qk_nope_head_dim"), fields.count("v_head_dim")
    query = count * (plain + rope)
    tensors = [Tensor("self_attn.q_proj", query, hidden, "attention", "columns")]
    if query_rank:
        tensors = [
            Tensor("self_attn.q_a_proj", query_rank, hidden, "attention", "none"),
            vector("self_attn.q_a_layernorm", query_rank),
            Tensor("self_attn.q_b_proj", query, query_rank, "attention", "columns"),
        ]
    tensors += [
        Tensor("self_attn.kv_a_proj_with_mqa", rank + rope, hidden, "attention", "none"),
        vector("self_attn.kv_a_layernorm", rank),
        Tensor("self_attn.kv_b_proj", count * (plain + value), rank, "attention", "columns"),
        Tensor("self_attn.o_proj", hidden, count * value, "attention", "rows"),
    ]
    return Layer(tuple(tensors), (Cache("latent", 1, rank + rope),))


def indexer(fields: Fields) -> Layer:
    """The small attention that picks the tokens to attend to; whole on every rank, with a key cache of its own.

    Source: vllm 0.32.0 models/deepseek_v2.py, Indexer.
    """
    hidden, rank = fields.count("hidden_size"), fields.count("q_lora_rank")
    count, size = fields.count("index_n_heads"), fields.count("index_head_dim")
    tensors = (
        Tensor("self_attn.indexer.wq_b", count * size, rank, "attention", "none"),
        Tensor("self_attn.indexer.wk", size, hidden, "attention", "none"),
        Tensor("self_attn.indexer.weights_proj", count, hidden, "attention", "none"),
        vector("self_attn.indexer.k_norm", 2 * size),
    )
    return Layer(tensors, (Cache("index", 1, size),))
