"""Models with an encoder: speech to text, and texts to vectors."""

from __future__ import annotations

from infra.catalog.architecture import Architecture, Cache, Layer, Part, Split, Tensor
from infra.catalog.configs.attention import join, vector
from infra.catalog.configs.fields import Fields


def whisper(fields: Fields) -> Architecture:
    """Whisper: encoder layers, which keep nothing, and decoder layers, which keep what the encoder heard besides.

    Source: transformers 5.19.0 modeling_whisper.py.
    """
    hidden, vocab = fields.count("d_model"), fields.count("vocab_size")
    heads, heard = fields.count("decoder_attention_heads"), fields.count("max_source_positions")
    size, longest = max(1, hidden // heads), fields.count("max_target_positions")
    own, other = _attention(hidden, "self_attn"), _attention(hidden, "encoder_attn")
    rest = _feed_forward(hidden, fields.count("decoder_ffn_dim"), ("fc1", "fc2"))
    caches = (Cache("full", heads, size, size), Cache("cross", heads, size, size, heard))
    hears = _feed_forward(hidden, fields.count("encoder_ffn_dim"), ("fc1", "fc2"))
    encoder = join(own, hears, _norms(hidden, 2))
    decoder = join(own, other, rest, _norms(hidden, 3), Layer((), caches))
    outside = (
        Tensor("decoder.embed_tokens", vocab, hidden, "embedding", "vocab"),
        vector("decoder.embed_positions", longest * hidden, "embedding"),
        vector("encoder.embed_positions", heard * hidden, "embedding"),
        vector("encoder.conv1", hidden * (3 * fields.count("num_mel_bins") + 1), "vision"),
        vector("encoder.conv2", hidden * (3 * hidden + 1), "vision"),
        vector("layer_norm", 4 * hidden),
    )
    layers = (encoder,) * fields.depth("encoder_layers") + (decoder,) * fields.depth("decoder_layers")
    return Architecture(
        fields.name, "", hidden, vocab, longest, heads, heads, layers, outside, is_tied=True, dtype=fields.dtype
    )


def bert(fields: Fields) -> Architecture:
    """BERT and XLM-RoBERTa: an encoder alone, which keeps nothing; RoBERTa's first positions are not texts'.

    Source: transformers 5.19.0 modeling_xlm_roberta.py.
    """
    hidden, vocab, heads = (fields.count(key) for key in ("hidden_size", "vocab_size", "num_attention_heads"))
    positions = fields.count("max_position_embeddings")
    is_roberta = "roberta" in fields.text("model_type")
    skipped = fields.count("pad_token_id", default=0, least=0) + 1 if is_roberta else 0
    attention = _attention(hidden, "attention", biased_keys=True)
    names = ("intermediate.dense", "output.dense")
    layer = join(attention, _feed_forward(hidden, fields.count("intermediate_size"), names), _norms(hidden, 2))
    outside = (
        Tensor("embeddings.word_embeddings", vocab, hidden, "embedding", "vocab"),
        vector("embeddings.position_embeddings", positions * hidden, "embedding"),
        vector("embeddings.token_type_embeddings", fields.count("type_vocab_size", default=1) * hidden, "embedding"),
        vector("embeddings.LayerNorm", 2 * hidden),
    )
    layers = (layer,) * fields.layers
    return Architecture(
        fields.name, "", hidden, vocab, positions - skipped, heads, heads, layers, outside, dtype=fields.dtype
    )


def _attention(hidden: int, name: str, *, biased_keys: bool = False) -> Layer:
    splits: dict[str, Split] = {"q_proj": "columns", "k_proj": "columns", "v_proj": "columns", "out_proj": "rows"}
    return Layer(
        (
            *(Tensor(f"{name}.{matrix}", hidden, hidden, "attention", split) for matrix, split in splits.items()),
            *(vector(f"{name}.{m}.bias", hidden, "attention") for m in splits if biased_keys or m != "k_proj"),
        ),
        (),
    )


def _feed_forward(hidden: int, width: int, names: tuple[str, str]) -> Layer:
    part: Part = "dense"
    return Layer(
        (
            Tensor(names[0], width, hidden, part, "columns"),
            vector(f"{names[0]}.bias", width, part, "columns"),
            Tensor(names[1], hidden, width, part, "rows"),
            vector(f"{names[1]}.bias", hidden, part),
        ),
        (),
    )


def _norms(hidden: int, count: int) -> Layer:
    return Layer((vector("layer_norms", 2 * hidden * count),), ())
