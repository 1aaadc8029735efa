"""Feed-forward part of one layer: dense, or a mixture of experts."""

from __future__ import annotations

from dataclasses import replace

from infra.catalog.architecture import Layer, Part, Split, Tensor
from infra.catalog.configs.attention import vector
from infra.catalog.configs.fields import Fields


def gated(
    hidden: int, width: int, name: str = "mlp", part: Part = "dense", *, count: int = 1, bias: bool = False
) -> tuple[Tensor, ...]:
    """Gate, up and down matrices; ``count`` of each for experts."""
    gate = _matrix(Tensor(f"{name}.gate_proj", width, hidden, part, _split(part, "columns"), count), bias=bias)
    return (*gate, *plain(hidden, width, name, part, count=count, bias=bias))


def plain(
    hidden: int, width: int, name: str = "mlp", part: Part = "dense", *, count: int = 1, bias: bool = False
) -> tuple[Tensor, ...]:
    """Up and down matrices without a gate."""
    up = Tensor(f"{name}.up_proj", width, hidden, part, _split(part, "columns"), count)
    down = Tensor(f"{name}.down_proj", hidden, width, part, _split(part, "rows"), count)
    return (*_matrix(up, bias=bias), *_matrix(down, bias=bias))


def router(hidden: int, experts: int, *, name: str = "mlp.gate", bias: bool = False) -> tuple[Tensor, ...]:
    """The matrix that picks experts, and what is added to its scores; whole on every rank."""
    matrix = Tensor(name, experts, hidden, "router", "none")
    return (matrix, vector(f"{name}.bias", experts, "router")) if bias else (matrix,)


def experts(fields: Fields) -> tuple[int, int]:
    """How many experts a layer has, and how many of them a token passes (counts)."""
    count = fields.count("num_experts", "n_routed_experts", "num_local_experts")
    active = fields.count("num_experts_per_tok", "top_k_experts", "experts_per_token", "moe_topk")
    if active > count:
        fields.problem("num_experts_per_tok", active, f"at most the {count} experts")
    return count, active


def mixture(fields: Fields, width: int, *extra: tuple[Tensor, ...]) -> Layer:
    """Gated experts behind a router; ``extra``: shared experts, other routers' parts."""
    hidden, (count, active) = fields.count("hidden_size"), experts(fields)
    own = gated(hidden, width, "mlp.experts", "expert", count=count)
    return Layer((*own, *(tensor for group in extra for tensor in group)), (), count, active)


def _split(part: Part, split: Split) -> Split:
    return "experts" if part == "expert" else split


def _matrix(matrix: Tensor, *, bias: bool) -> tuple[Tensor, ...]:
    """A matrix and its bias, which all ranks hold whole where the matrix is dealt by its inputs."""
    if not bias:
        return (matrix,)
    split: Split = "none" if matrix.split == "rows" else matrix.split
    return matrix, replace(matrix, name=f"{matrix.name}.bias", columns=1, split=split)
