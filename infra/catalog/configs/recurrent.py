"""Layers with a state of fixed size: gated delta nets and Mamba2."""

from __future__ import annotations

from infra.catalog.architecture import Cache, Layer, State, Tensor
from infra.catalog.configs.attention import vector
from infra.catalog.configs.fields import Fields


def delta_net(fields: Fields, *, fused: bool) -> Layer:
    """A gated delta net.

    Args:
        fields: the config.
        fused: whether the checkpoint keeps the input matrices in two (Qwen3-Next) and not in four (Qwen3.5).
    Source: transformers 5.19.0 modeling_qwen3_next.py; state shapes vllm 0.32.0 layers/mamba/mamba_utils.py.
    """
    hidden = fields.count("hidden_size")
    key = fields.count("linear_num_key_heads") * fields.count("linear_key_head_dim")
    heads, size = fields.count("linear_num_value_heads"), fields.count("linear_value_head_dim")
    kernel, value = fields.count("linear_conv_kernel_dim"), heads * size
    inputs = {"qkvz": 2 * key + 2 * value, "ba": 2 * heads} if fused else {}
    inputs = inputs or {"qkv": 2 * key + value, "z": value, "b": heads, "a": heads}
    tensors = (
        *(Tensor(f"linear_attn.in_proj_{n}", rows, hidden, "recurrent", "columns") for n, rows in inputs.items()),
        Tensor("linear_attn.out_proj", hidden, value, "recurrent", "rows"),
        vector("linear_attn.conv1d", (2 * key + value) * kernel, "recurrent", "columns"),
        vector("linear_attn.A_log", heads, "recurrent", "columns"),
        vector("linear_attn.dt_bias", heads, "recurrent", "columns"),
        vector("linear_attn.norm", size),
    )
    states = (
        _convolution(2 * key + value, kernel),
        State(heads * size * fields.count("linear_key_head_dim"), True, fields.data_type("mamba_ssm_dtype")),
    )
    return Layer(tensors, (Cache("state", states=states),))


def mamba2(fields: Fields) -> Layer:
    """A Mamba2 mixer, sized by its heads and not by ``expand``.

    Source: transformers 5.19.0 modeling_nemotron_h.py; state shapes vllm 0.32.0 layers/mamba/mamba_utils.py.
    """
    hidden, heads, size = (fields.count(key) for key in ("hidden_size", "mamba_num_heads", "mamba_head_dim"))
    kernel, depth = fields.count("conv_kernel"), fields.count("ssm_state_size")
    inner = heads * size
    mixed = inner + 2 * fields.count("n_groups") * depth
    biases = []
    if fields.flag("use_conv_bias", default=True):
        biases.append(vector("mixer.conv1d.bias", mixed, "recurrent", "columns"))
    if fields.flag("use_bias"):
        biases.append(vector("mixer.in_proj.bias", inner + mixed + heads, "recurrent", "columns"))
        biases.append(vector("mixer.out_proj.bias", hidden, "recurrent"))
    tensors = (
        Tensor("mixer.in_proj", inner + mixed + heads, hidden, "recurrent", "columns"),
        Tensor("mixer.out_proj", hidden, inner, "recurrent", "rows"),
        vector("mixer.conv1d", mixed * kernel, "recurrent", "columns"),
        *(vector(f"mixer.{name}", heads, "recurrent", "columns") for name in ("A_log", "D", "dt_bias")),
        vector("mixer.norm", inner, split="columns"),
        *biases,
    )
    temporal = State(heads * size * depth, True, fields.data_type("mamba_ssm_cache_dtype"))
    return Layer(tensors, (Cache("state", states=(_convolution(mixed, kernel), temporal)),))


def _convolution(width: int, kernel: int) -> State:
    return State(width * (kernel - 1), is_temporal=False, inputs=kernel - 1)
