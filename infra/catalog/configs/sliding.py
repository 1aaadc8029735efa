"""Families whose layers differ in what they see: Gemma 3 and 4, and Llama 4."""

from __future__ import annotations

from dataclasses import replace

from infra.catalog.architecture import Architecture, Kind, Layer
from infra.catalog.configs.attention import grouped, head_norms, heads, join, vector
from infra.catalog.configs.decoder import decoder, norms
from infra.catalog.configs.feed_forward import experts, gated, mixture, router
from infra.catalog.configs.fields import Fields
from infra.catalog.configs.patterns import build, kinds
from infra.catalog.configs.vision import tower

_GEMMA_NORMS = (
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)
_GEMMA3_DEFAULTS = {
    "vocab_size": 262_208,
    "max_position_embeddings": 131_072,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
}
"""What published configs of Gemma 3 leave out. Source: transformers 5.19.0 configuration_gemma3.py."""


def gemma3(fields: Fields) -> Architecture:
    """Gemma 3: every sixth layer attends to all tokens; head and embedding are one."""
    fields.assume(_GEMMA3_DEFAULTS)
    sizes = heads(fields)
    rest = Layer(gated(sizes.hidden, fields.count("intermediate_size")), ())

    def make(kind: tuple[Kind, int]) -> Layer:
        return join(norms(sizes.hidden, *_GEMMA_NORMS), grouped(sizes, *kind, extra=head_norms(sizes)), rest)

    return decoder(fields, build(make, kinds(fields, every=6)), tied=True, tower=tower(fields), stretched=False)


def gemma4(fields: Fields) -> Architecture:
    """Gemma 4: layers that attend to all tokens have heads of another size and number, and may lack a value matrix.

    Source: transformers 5.19.0 configuration_gemma4.py and modeling_gemma4.py.
    """
    if fields.count("hidden_size_per_layer_input", default=256, least=0):
        fields.doubt("hidden_size_per_layer_input asks for embeddings of each layer, which are not known here")
    local = heads(fields, size=fields.count("head_dim", default=256))
    is_shared = fields.flag("attention_k_eq_v")
    kv = fields.count("num_global_key_value_heads", default=local.kv) if is_shared else local.kv
    overall = replace(local, kv=kv, size=fields.count("global_head_dim", default=512))
    found = kinds(fields, every=6)
    scalar = Layer((vector("layer_scalar", 1),), ())
    first_shared = len(found) - fields.count("num_kv_shared_layers", default=0, least=0)

    def make(key: tuple[tuple[Kind, int], bool]) -> Layer:
        kind, reads_others = key
        sizes = overall if kind[0] == "full" else local
        alike = is_shared and kind[0] == "full"
        attention = grouped(sizes, *kind, extra=head_norms(sizes), value_is_key=alike)
        attention = _reader(attention) if reads_others else attention
        rest = _gemma4_rest(fields, wide=reads_others and fields.flag("use_double_wide_mlp"))
        return join(norms(sizes.hidden, *_GEMMA_NORMS), attention, rest, scalar)

    keys = [(kind, index >= first_shared) for index, kind in enumerate(found)]
    return decoder(fields, build(make, keys), tied=True, tower=tower(fields))


def _reader(attention: Layer) -> Layer:
    """Attention over keys and values of a layer before it."""
    own = ("self_attn.k_proj", "self_attn.v_proj", "self_attn.k_norm")
    return Layer(tuple(tensor for tensor in attention.tensors if tensor.name not in own), ())


def _gemma4_rest(fields: Fields, *, wide: bool) -> Layer:
    """The dense part, and beside it the experts of the models that have some."""
    hidden, width = fields.count("hidden_size"), fields.count("intermediate_size") * (2 if wide else 1)
    dense = Layer(gated(hidden, width), ())
    if not fields.flag("enable_moe_block"):
        return dense
    count, active = experts(fields)
    width = fields.count("moe_intermediate_size", "expert_intermediate_size")
    own = gated(hidden, width, "experts", "expert", count=count)
    extra = (
        *router(hidden, count, name="router.proj"),
        vector("router.scale", hidden, "router"),
        vector("router.per_expert_scale", count, "router"),
        *(vector(f"{name}_feedforward_layernorm_{n}", hidden) for name, n in (("post", 1), ("post", 2), ("pre", 2))),
    )
    return join(dense, Layer((*own, *extra), (), count, active))


def llama4(fields: Fields) -> Architecture:
    """Llama 4: three of four layers see only their chunk; the others have no rotary positions.

    Source: transformers 5.19.0 configuration_llama4.py.
    """
    sizes = heads(fields)
    both = fields.flag("attention_bias")
    count = fields.layers
    sparse = _sparse(fields, count)

    def make(key: tuple[tuple[Kind, int], bool]) -> Layer:
        kind, is_sparse = key
        rest = _llama4_mixture(fields) if is_sparse else _llama4_dense(fields)
        return join(norms(sizes.hidden), grouped(sizes, *kind, bias=both, out_bias=both), rest)

    layers = build(make, zip(_chunks(fields, count), sparse, strict=True))
    return decoder(fields, layers, tower=tower(fields))


def _chunks(fields: Fields, count: int) -> list[tuple[Kind, int]]:
    if fields.get("layer_types"):
        return kinds(fields, known=("full", "chunked"))
    every = fields.count("no_rope_layer_interval", default=4)
    rotary = fields.each("no_rope_layers", count) if fields.get("no_rope_layers") else None
    rotary = rotary or [int((index + 1) % every != 0) for index in range(count)]
    chunk = fields.count("attention_chunk_size")
    return [("chunked", chunk) if has_positions else ("full", 0) for has_positions in rotary]


def _sparse(fields: Fields, count: int) -> list[bool]:
    step = fields.count("interleave_moe_layer_step", default=1)
    chosen = fields.counts("moe_layers") or range(step - 1, count, step)
    return [index in chosen for index in range(count)]


def _llama4_dense(fields: Fields) -> Layer:
    return Layer(gated(fields.count("hidden_size"), fields.count("intermediate_size_mlp")), ())


def _llama4_mixture(fields: Fields) -> Layer:
    hidden, width = fields.count("hidden_size"), fields.count("intermediate_size")
    count, _ = experts(fields)
    shared = gated(hidden, width, "mlp.shared_expert", "shared")
    return mixture(fields, width, router(hidden, count, name="mlp.router"), shared)
