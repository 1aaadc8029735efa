"""Families with MLA or with DeepSeek's mixtures: DeepSeek V2 to V3.2, Kimi-K2, GLM-4.5 and GLM-5."""

from __future__ import annotations

from infra.catalog.architecture import Architecture, Layer, Tensor
from infra.catalog.configs.attention import grouped, head_norms, heads, indexer, join, latent, vector
from infra.catalog.configs.decoder import decoder, norms
from infra.catalog.configs.feed_forward import experts, gated, mixture, router
from infra.catalog.configs.fields import Fields
from infra.catalog.configs.patterns import build
from infra.catalog.configs.vision import tower


def deepseek(fields: Fields) -> Architecture:
    """DeepSeek V2 and V3, Kimi-K2: MLA in all layers; ``head_dim``, where it is given, is not the cache's."""
    return _stack(fields, latent(fields), latent(fields), kv_heads=1)


def deepseek_sparse(fields: Fields) -> Architecture:
    """DeepSeek V3.2 and GLM-5: MLA with a sparse indexer, which some layers share with one before them."""
    return _stack(fields, latent(fields), join(latent(fields), indexer(fields)), _indexed(fields), kv_heads=1)


def glm4_moe(fields: Fields) -> Architecture:
    """GLM-4.5: grouped-query attention with DeepSeek's mixtures."""
    sizes = heads(fields)
    extra = head_norms(sizes) if fields.flag("use_qk_norm") else ()
    attention = grouped(sizes, bias=fields.flag("attention_bias"), extra=extra)
    return _stack(fields, attention, attention)


def _stack(
    fields: Fields, attention: Layer, indexed: Layer, own: list[bool] | None = None, kv_heads: int | None = None
) -> Architecture:
    """Layers with or without experts, each with an indexer of its own or not."""
    hidden, count = fields.count("hidden_size"), fields.layers
    sparse = _sparse(fields)
    dense = Layer(gated(hidden, fields.count("intermediate_size")), ()) if not all(sparse) else None
    mixed = _mixture(fields) if any(sparse) else None

    def make(key: tuple[bool, bool]) -> Layer:
        has_indexer, is_sparse = key
        rest = (mixed if is_sparse else dense) or Layer((), ())
        return join(norms(hidden), indexed if has_indexer else attention, rest)

    layers = build(make, zip(own or [True] * count, sparse, strict=True))
    drafts = fields.depth("num_nextn_predict_layers", default=0)
    extra = Layer(
        (
            Tensor("eh_proj", hidden, 2 * hidden, "dense", "none"),
            *(vector(name, hidden) for name in ("enorm", "hnorm", "shared_head.norm")),
        ),
        (),
    )
    drafter = tuple(join(extra, make((True, bool(mixed)))) for _ in range(drafts))
    return decoder(fields, layers, drafter=drafter, tower=tower(fields), kv_heads=kv_heads)


def _sparse(fields: Fields) -> list[bool]:
    """Which layers have experts: not the first few, and then each how many."""
    count = fields.layers
    named = fields.each("mlp_layer_types", count, ("dense", "sparse"))
    if named is not None:
        return [word == "sparse" for word in named]
    if not fields.get("n_routed_experts", "num_experts", "num_local_experts"):
        return [False] * count
    first = fields.count("first_k_dense_replace", default=0, least=0)
    step = fields.count("moe_layer_freq", default=1)
    return [index >= first and index % step == 0 for index in range(count)]


def _mixture(fields: Fields) -> Layer:
    hidden, (count, _) = fields.count("hidden_size"), experts(fields)
    width = fields.count("moe_intermediate_size")
    shared = fields.count("n_shared_experts", default=0, least=0)
    biased = fields.text("topk_method", "noaux_tc") == "noaux_tc"
    extra = gated(hidden, shared * width, "mlp.shared_experts", "shared") if shared else ()
    return mixture(fields, width, router(hidden, count, bias=biased), extra)


def _indexed(fields: Fields) -> list[bool]:
    """Which layers have an indexer of their own. Source: vllm 0.32.0 models/deepseek_v2.py, DeepseekV2MLAAttention."""
    count = fields.layers
    named = fields.each("indexer_types", count, ("full", "shared"))
    if named is not None:
        return [word == "full" for word in named]
    pattern = fields.text("index_topk_pattern")
    if pattern:
        return [sign != "S" for sign in pattern[:count].ljust(count, "F")]
    step = fields.count("index_topk_freq", default=1)
    offset = fields.count("index_skip_topk_offset", default=2, least=0)
    return [max(index - offset + 1, 0) % step == 0 for index in range(count)]
