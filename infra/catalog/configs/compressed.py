"""DeepSeek-V4: short windows everywhere, and beside them entries that many tokens share."""

from __future__ import annotations

from dataclasses import replace

from infra.catalog.architecture import Architecture, Cache, Layer, Tensor
from infra.catalog.configs.attention import join, vector
from infra.catalog.configs.decoder import decoder, norms
from infra.catalog.configs.feed_forward import experts, gated, mixture, router
from infra.catalog.configs.fields import Fields
from infra.catalog.configs.patterns import build

_WINDOW_BLOCK = 64
"""Tokens in a block of the window's cache. Source: vllm 0.32.0 v1/attention/backends/mla/sparse_swa.py."""

_STATE_BLOCKS = {4: 4, 128: 8}
"""Tokens in a block of a compressor's state, by ratio. Source: vllm 0.32.0 models/deepseek_v4/compressor.py."""


def deepseek_v4(fields: Fields) -> Architecture:
    """DeepSeek-V4.

    Source: transformers 5.19.0 modeling_deepseek_v4.py; caches vllm 0.32.0 models/deepseek_v4.
    """
    count, hidden = fields.layers, fields.count("hidden_size")
    ratios = fields.each("compress_ratios", count, (0, 4, 128))
    if ratios is None:
        fields.problem("compress_ratios", None, f"a list with an entry for each of {count} layers")
        ratios = [0] * count
    hashed = fields.count("num_hash_layers", default=0, least=0)

    def make(key: tuple[int, bool]) -> Layer:
        ratio, is_hashed = key
        parts = [norms(hidden), _attention(fields), _streams(fields), _mixture(fields, is_hashed=is_hashed)]
        return join(*parts, *_compressed(fields, ratio))

    layers = build(make, ((ratio, index < hashed) for index, ratio in enumerate(ratios)))
    width = fields.count("hc_mult")
    tower = (Tensor("hc_head.fn", width, width * hidden, "router", "none", form="fp32"),)
    drafter = tuple(make((0, False)) for _ in range(fields.depth("num_nextn_predict_layers", default=0)))
    return decoder(fields, layers, drafter=drafter, tower=tower, kv_heads=1)


def _attention(fields: Fields) -> Layer:
    """Queries and the output through narrow matrices, one key for all heads, which is the value too."""
    hidden, count, size = (fields.count(key) for key in ("hidden_size", "num_attention_heads", "head_dim"))
    rank, groups, out = (fields.count(key) for key in ("q_lora_rank", "o_groups", "o_lora_rank"))
    tensors = (
        Tensor("self_attn.q_a_proj", rank, hidden, "attention", "none"),
        vector("self_attn.q_a_norm", rank),
        Tensor("self_attn.q_b_proj", count * size, rank, "attention", "columns"),
        Tensor("self_attn.kv_proj", size, hidden, "attention", "none"),
        vector("self_attn.kv_norm", size),
        Tensor("self_attn.o_a_proj", groups * out, count * size // groups, "attention", "columns"),
        Tensor("self_attn.o_b_proj", hidden, groups * out, "attention", "rows"),
        vector("self_attn.sinks", count, "attention", "columns"),
    )
    window = fields.count("sliding_window")
    return Layer(tensors, (Cache("sliding", 1, size, window=window, block_tokens=_WINDOW_BLOCK),))


def _compressed(fields: Fields, ratio: int) -> tuple[Layer, ...]:
    """What a layer keeps of all tokens; a dense ratio has an indexer that picks from it."""
    if not ratio:
        return ()
    size = fields.count("head_dim")
    kept = Layer((), (Cache("latent", 1, size, compress=ratio),))
    if ratio != min(_STATE_BLOCKS):
        return kept, _compressor(fields, "self_attn.compressor", size, ratio)
    count, small = fields.count("index_n_heads"), fields.count("index_head_dim")
    tensors = (
        Tensor("self_attn.indexer.wq_b", count * small, fields.count("q_lora_rank"), "attention", "none"),
        Tensor("self_attn.indexer.weights_proj", count, fields.count("hidden_size"), "router", "none"),
    )
    return (
        kept,
        _compressor(fields, "self_attn.compressor", size, ratio),
        Layer(tensors, (Cache("index", 1, small, compress=ratio),)),
        _compressor(fields, "self_attn.indexer.compressor", small, ratio),
    )


def _compressor(fields: Fields, name: str, size: int, ratio: int) -> Layer:
    """Makes an entry of some tokens, and keeps what it needs of the last ones; at the dense ratio entries overlap."""
    overlap = 2 if ratio == min(_STATE_BLOCKS) else 1
    hidden = fields.count("hidden_size")
    tensors = (
        Tensor(f"{name}.kv_proj", overlap * size, hidden, "router", "none"),
        Tensor(f"{name}.gate_proj", overlap * size, hidden, "router", "none"),
        Tensor(f"{name}.position_bias", ratio, overlap * size, "router", "none"),
        vector(f"{name}.kv_norm", size),
    )
    window, block = overlap * ratio, _STATE_BLOCKS.get(ratio, 0)
    kept = Cache("sliding", 1, 2 * overlap * size, window=window, dtype="float32", block_tokens=block)
    return Layer(tensors, (kept,))


def _streams(fields: Fields) -> Layer:
    """The matrices that mix the parallel residual streams, kept in float32."""
    count = fields.count("hc_mult")
    rows, columns = (2 + count) * count, count * fields.count("hidden_size")
    return Layer(
        tuple(Tensor(f"{name}.fn", rows, columns, "router", "none", form="fp32") for name in ("attn_hc", "ffn_hc")), ()
    )


def _mixture(fields: Fields, *, is_hashed: bool) -> Layer:
    """Experts, of four or eight bits; the first layers pick them by a table of tokens."""
    hidden, (count, active) = fields.count("hidden_size"), experts(fields)
    width = fields.count("moe_intermediate_size")
    shared = gated(hidden, fields.count("n_shared_experts") * width, "mlp.shared_experts", "shared")
    table = (Tensor("mlp.gate.tid2eid", fields.count("vocab_size"), active, "router", "none"),) if is_hashed else ()
    mixed = mixture(fields, width, router(hidden, count, bias=not is_hashed), shared, table)
    held_in = fields.text("expert_dtype")
    if fields.get("quantization_config") and held_in not in ("fp4", "fp8"):
        fields.doubt(f"expert_dtype is {held_in or 'missing'!r}, and checkpoints with fp4 and with fp8 experts exist")
    if not fields.get("quantization_config") or held_in == "fp8":
        return mixed
    held = tuple(replace(t, form="mxfp4") if t.part == "expert" else t for t in mixed.tensors)
    return replace(mixed, tensors=held)
