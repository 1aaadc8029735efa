"""Families that mix attention with recurrent layers: Qwen3-Next, Qwen3.5, Nemotron-H."""

from __future__ import annotations

from dataclasses import replace

from infra.catalog.architecture import Architecture, Kind, Layer, Tensor
from infra.catalog.configs.attention import grouped, head_norms, heads, join, vector
from infra.catalog.configs.decoder import decoder, norms
from infra.catalog.configs.dense import sparse_layers
from infra.catalog.configs.feed_forward import experts, gated, mixture, plain, router
from infra.catalog.configs.fields import Fields
from infra.catalog.configs.patterns import build, kinds
from infra.catalog.configs.recurrent import delta_net, mamba2
from infra.catalog.configs.vision import tower

_SIGNS = {"mamba": "M", "attention": "*", "moe": "E", "mlp": "-"}
"""Words and signs of Nemotron-H's layers. Source: transformers 5.19.0 configuration_nemotron_h.py."""


def qwen3_next(fields: Fields) -> Architecture:
    """Qwen3-Next: every fourth layer attends, the others are delta nets; mixtures with a gated shared expert."""
    return _qwen(fields, delta_net(fields, fused=True))


def qwen3_5(fields: Fields) -> Architecture:
    """Qwen3.5: as Qwen3-Next with other input matrices, dense or as a mixture."""
    return _qwen(fields, delta_net(fields, fused=False))


def _qwen(fields: Fields, state: Layer) -> Architecture:
    sizes = heads(fields)
    both = fields.flag("attention_bias")
    is_gated = fields.flag("attn_output_gate", default=True)
    full = grouped(sizes, bias=both, out_bias=both, extra=head_norms(sizes), gated=is_gated)
    sparse = sparse_layers(fields) if fields.get("num_experts") else [False] * fields.layers
    mixed = _shared_mixture(fields) if any(sparse) else None
    dense = None if all(sparse) else Layer(gated(sizes.hidden, fields.count("intermediate_size")), ())

    def make(key: tuple[Kind, bool]) -> Layer:
        kind, is_sparse = key
        rest = (mixed if is_sparse else dense) or Layer((), ())
        return join(norms(sizes.hidden), full if kind == "full" else state, rest)

    found = [kind for kind, _ in kinds(fields, every=4, known=("full", "state"))]
    layers = build(make, zip(found, sparse, strict=True))
    extra = Layer(
        (
            Tensor("fc", sizes.hidden, 2 * sizes.hidden, "dense", "none"),
            *(vector(name, sizes.hidden) for name in ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")),
        ),
        (),
    )
    drafts = fields.depth("mtp_num_hidden_layers", "num_nextn_predict_layers", default=0)
    drafter = tuple(join(extra, make(("full", bool(mixed)))) for _ in range(drafts))
    return decoder(fields, layers, drafter=drafter, tower=tower(fields))


def _shared_mixture(fields: Fields) -> Layer:
    hidden, (count, _) = fields.count("hidden_size"), experts(fields)
    shared = gated(hidden, fields.count("shared_expert_intermediate_size"), "mlp.shared_expert", "shared")
    gate = (Tensor("mlp.shared_expert_gate", 1, hidden, "router", "none"),)
    return mixture(fields, fields.count("moe_intermediate_size"), router(hidden, count), shared, gate)


def nemotron_h(fields: Fields) -> Architecture:
    """Nemotron-H: a pattern of one sign a layer, each layer one part: M Mamba2, * attention, E experts, - dense."""
    pattern = _pattern(fields)
    sizes = heads(fields)
    both = fields.flag("attention_bias")
    attention = grouped(sizes, bias=both, out_bias=both)
    attention = replace(attention, tensors=tuple(_mixer(t, "self_attn") for t in attention.tensors))

    def make(sign: str) -> Layer:
        parts = {"M": lambda: mamba2(fields), "*": lambda: attention, "E": lambda: _latent_mixture(fields)}
        dense = plain(sizes.hidden, fields.count("intermediate_size"), "mixer", bias=fields.flag("mlp_bias"))
        part = parts[sign]() if sign in parts else Layer(dense, ())
        return join(norms(sizes.hidden, "norm"), part)

    drafts = fields.text("mtp_hybrid_override_pattern") if fields.get("num_nextn_predict_layers") else ""
    return decoder(fields, build(make, pattern), drafter=tuple(make(sign) for sign in drafts))


def _pattern(fields: Fields) -> str:
    """One sign a layer, from the pattern or from a list of words, which may be all that tells how many there are."""
    words, pattern = fields.get("layers_block_type"), fields.text("hybrid_override_pattern")
    if isinstance(words, list) and not pattern:
        unknown = sorted({str(word) for word in words if str(word) not in _SIGNS})
        if unknown:
            fields.doubt(f"layers_block_type names kinds of layers that are not known here: {unknown}")
        pattern = "".join(_SIGNS[str(word)] for word in words)
    layers = fields.count("num_hidden_layers", default=len(pattern) or None)
    if len(pattern) != layers:
        fields.problem("hybrid_override_pattern", pattern, f"a text with one sign for each of {layers} layers")
    if set(pattern) - set(_SIGNS.values()):
        fields.doubt(f"hybrid_override_pattern {pattern!r} has signs beside {', '.join(_SIGNS.values())}")
    return pattern


def _mixer(tensor: Tensor, name: str) -> Tensor:
    return replace(tensor, name=tensor.name.replace(f"{name}.", "mixer.", 1))


def _latent_mixture(fields: Fields) -> Layer:
    """Experts without gates, which may work on a narrower vector than the layer's."""
    hidden, (count, active) = fields.count("hidden_size"), experts(fields)
    inner = fields.count("moe_latent_size", default=hidden)
    width = fields.count("moe_intermediate_size")
    shared = fields.count("moe_shared_expert_intermediate_size", default=0, least=0)
    tensors = list(plain(inner, width, "mixer.experts", "expert", count=count))
    tensors += router(hidden, count, name="mixer.gate", bias=True)
    if fields.count("n_shared_experts", default=0, least=0) and shared:
        tensors += plain(hidden, shared, "mixer.shared_experts", "shared")
    if inner != hidden:
        tensors.append(Tensor("mixer.fc1_latent_proj", inner, hidden, "dense", "none"))
        tensors.append(Tensor("mixer.fc2_latent_proj", hidden, inner, "dense", "none"))
    return Layer(tuple(tensors), (), count, active)
