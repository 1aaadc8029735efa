"""Families with grouped-query attention in each layer: Llama, Mistral, Qwen, Phi, and their mixtures of experts."""

from __future__ import annotations

from infra.catalog.architecture import Architecture, Kind, Layer, Tensor
from infra.catalog.configs.attention import Heads, grouped, head_norms, heads, join, vector, width_norms
from infra.catalog.configs.decoder import decoder, norms
from infra.catalog.configs.feed_forward import experts, gated, mixture, router
from infra.catalog.configs.fields import Fields
from infra.catalog.configs.patterns import build, kinds
from infra.catalog.configs.vision import tower


def llama(fields: Fields) -> Architecture:
    """Llama, Mistral and what follows them."""
    both = fields.flag("attention_bias")
    return _dense(fields, heads(fields), bias=both, out_bias=both)


def qwen2(fields: Fields) -> Architecture:
    """Qwen2 and Qwen2.5: biases on queries, keys and values that no field tells."""
    return _dense(fields, heads(fields), bias=True)


def phi3(fields: Fields) -> Architecture:
    """Phi-3 and Phi-4, whose checkpoints keep queries, keys and values in one matrix."""
    return _dense(fields, heads(fields))


def qwen3(fields: Fields) -> Architecture:
    """Qwen3: a norm on each query and key head."""
    sizes, both = heads(fields), fields.flag("attention_bias")
    return _dense(fields, sizes, bias=both, out_bias=both, extra=head_norms(sizes))


def _dense(
    fields: Fields, sizes: Heads, *, bias: bool = False, out_bias: bool = False, extra: tuple[Tensor, ...] = ()
) -> Architecture:
    width = fields.count("intermediate_size")
    rest = Layer(gated(sizes.hidden, width, bias=fields.flag("mlp_bias")), ())

    def make(kind: tuple[Kind, int]) -> Layer:
        return join(norms(sizes.hidden), grouped(sizes, *kind, bias=bias, out_bias=out_bias, extra=extra), rest)

    return decoder(fields, build(make, kinds(fields)), tower=tower(fields))


def mixtral(fields: Fields) -> Architecture:
    """Mixtral: each layer a mixture whose experts are as wide as ``intermediate_size`` says."""
    sizes = heads(fields)
    mixed = mixture(fields, fields.count("intermediate_size"), router(sizes.hidden, experts(fields)[0]))

    def make(kind: tuple[Kind, int]) -> Layer:
        return join(norms(sizes.hidden), grouped(sizes, *kind), mixed)

    return decoder(fields, build(make, kinds(fields)))


def qwen3_moe(fields: Fields) -> Architecture:
    """Qwen3-MoE: mixtures in all layers but those that the config names."""
    sizes, both = heads(fields), fields.flag("attention_bias")
    sparse = sparse_layers(fields)
    dense = Layer(gated(sizes.hidden, fields.count("intermediate_size")), ()) if not all(sparse) else None
    mixed = mixture(fields, fields.count("moe_intermediate_size"), router(sizes.hidden, experts(fields)[0]))

    def make(key: tuple[tuple[Kind, int], bool]) -> Layer:
        kind, is_sparse = key
        attention = grouped(sizes, *kind, bias=both, out_bias=both, extra=head_norms(sizes))
        return join(norms(sizes.hidden), attention, mixed if is_sparse or dense is None else dense)

    return decoder(fields, build(make, zip(kinds(fields), sparse, strict=True)), tower=tower(fields))


def sparse_layers(fields: Fields) -> list[bool]:
    """Which layers of a Qwen mixture have experts."""
    step = fields.count("decoder_sparse_step", default=1)
    dense = fields.counts("mlp_only_layers")
    return [index not in dense and (index + 1) % step == 0 for index in range(fields.layers)]


def minimax_m2(fields: Fields) -> Architecture:
    """MiniMax-M2: norms over all query and all key heads at once, a bias on the router's scores."""
    sizes = heads(fields)
    extra = width_norms(sizes) if fields.flag("use_qk_norm", default=True) else ()
    count, _ = experts(fields)
    biased = fields.flag("use_routing_bias", default=True)
    mixed = mixture(fields, fields.count("intermediate_size"), router(sizes.hidden, count, bias=biased))
    layer = join(norms(sizes.hidden), grouped(sizes, extra=extra), mixed)
    return decoder(fields, (layer,) * fields.layers)


def gpt_oss(fields: Fields) -> Architecture:
    """gpt-oss: every other layer slides; sinks and biases everywhere, experts' included."""
    sizes, width = heads(fields), fields.count("intermediate_size")
    count, active = experts(fields)
    own = gated(sizes.hidden, width, "mlp.experts", "expert", count=count, bias=True)
    mixed = Layer((*own, *router(sizes.hidden, count, name="mlp.router", bias=True)), (), count, active)
    sinks = (vector("self_attn.sinks", sizes.count, "attention", "columns"),)

    def make(kind: tuple[Kind, int]) -> Layer:
        return join(norms(sizes.hidden), grouped(sizes, *kind, bias=True, out_bias=True, extra=sinks), mixed)

    return decoder(fields, build(make, kinds(fields, every=2)))
