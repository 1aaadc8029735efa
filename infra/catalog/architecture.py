"""What a model is made of: tensors with the way in which ranks share them, and what each layer keeps of a request."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Part = Literal["attention", "recurrent", "dense", "shared", "expert", "router", "embedding", "head", "norm", "vision"]
"""What a tensor is for. Quantisations leave some parts as they are, and a token passes few of the experts."""

Split = Literal["columns", "rows", "kv", "vocab", "experts", "none"]
"""How tensor parallelism deals a tensor: outputs, inputs, key/value heads (copied once there are more ranks than
heads), vocabulary (padded), experts (whole ones with expert parallelism, else each one's width), or not at all."""

ROW = -1
"""In place of a group's size where a whole row shares one scale. Source: ``group_size`` of GPTQ and AWQ configs."""

Kind = Literal["full", "sliding", "chunked", "latent", "index", "state", "cross"]
"""What a layer keeps: keys and values of all tokens, of a window, of a chunk; MLA's latent vector; keys of a sparse
indexer; a state of fixed size for each request (Mamba, gated delta net, short convolutions); or keys and values of
what an encoder heard (``window`` says of how many positions)."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A weight of a layer, or as many of one shape as ``count`` says."""

    name: str
    rows: int
    """Outputs."""
    columns: int
    """Inputs; 1 for what is multiplied value by value (biases, norms, convolutions), which no format replaces."""
    part: Part
    split: Split
    count: int = 1
    """Such as the number of experts."""
    form: str = ""
    """Format in which the checkpoint holds it, where that is not the architecture's ``quantisation``."""

    @property
    def parameters(self) -> int:
        """Values in it (count)."""
        return self.rows * self.columns * self.count


@dataclass(frozen=True, slots=True)
class State:
    """One array of fixed size that a recurrent layer keeps for each request."""

    values: int
    """On all ranks together (count)."""
    is_temporal: bool
    """Whether it is the recurrent state, and not the convolution's."""
    dtype: str = ""
    """Data type that the config asks for; empty: the engine's default."""
    inputs: int = 0
    """Last inputs that a convolution keeps (count); a token drafted ahead adds one."""


@dataclass(frozen=True, slots=True)
class Cache:
    """What one layer keeps of a request."""

    kind: Kind
    kv_heads: int = 0
    key_dim: int = 0
    """Values of one key and head (count); MLA: latent and rotary part together."""
    value_dim: int = 0
    """Values of one value and head (count); 0: nothing besides the key."""
    window: int = 0
    """Tokens of a sliding window or of a chunk; positions that an encoder heard."""
    states: tuple[State, ...] = ()
    """Of kind ``state`` only."""
    compress: int = 1
    """Tokens that share one kept entry."""
    dtype: str = ""
    """Data type where the model fixes it; empty: that of the engine's key/value cache."""
    block_tokens: int = 0
    """Tokens of one block where the model fixes it; 0: as the engine says."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: what it weighs and what it keeps."""

    tensors: tuple[Tensor, ...]
    caches: tuple[Cache, ...]
    """Usually one; none where it keeps nothing or reads another layer's."""
    experts: int = 0
    """Experts a token chooses from (count)."""
    active_experts: int = 0
    """Experts a token passes (count)."""

    def __hash__(self) -> int:
        # Plans look layers up by the thousand; few facts tell most of them apart, and equality tells the rest.
        return hash((len(self.tensors), self.caches, self.experts))


@dataclass(frozen=True, slots=True)
class Architecture:
    """A model as its ``config.json`` describes it."""

    name: str
    family: str
    """Class of the checkpoint, such as ``LlamaForCausalLM``."""
    hidden: int
    vocab: int
    max_context: int
    """Longest context the model was trained for (tokens)."""
    heads: int
    """Attention heads (count); the largest number where layers differ."""
    kv_heads: int
    """Key/value heads (count); 1 with MLA."""
    layers: tuple[Layer, ...]
    """In order; equal layers are one object, so that costs grow with kinds of layers."""
    outside: tuple[Tensor, ...]
    """Embedding, head, last norm, vision tower."""
    drafter: tuple[Layer, ...] = ()
    """Layers for multi-token prediction, which only speculative decoding loads."""
    quantisation: str = ""
    """Format of the checkpoint as ``infra.catalog.quantisations`` names it; empty: as ``dtype`` says."""
    group: int = 0
    """Values that share a scale, where the checkpoint says so (count); ``ROW``: each row has one, 0: as its format."""
    dtype: str = "bfloat16"
    """Data type in which engines run what no format replaces."""
    stored_dtype: str = "bfloat16"
    """Data type in which the checkpoint holds it; float32 takes twice the space on disk and while it is read."""
    unquantised: tuple[str, ...] = ()
    """Names of tensors that the checkpoint says it leaves as they are, in all layers."""
    is_tied: bool = False
    """Whether the head is the embedding, so that a last pipeline stage holds a copy of it."""
    kv_dtype: str = ""
    """Format of the key/value cache that the checkpoint asks for, such as ``fp8``; empty: the engine's default."""
    source: str = ""

    def __hash__(self) -> int:
        # As for layers: a plan looks its model up for each layout.
        return hash((self.name, self.family, self.quantisation, len(self.layers)))

    def tensors(self, *, drafter: bool = False) -> Iterator[Tensor]:
        """Every tensor of it."""
        for layer in (*self.layers, *(self.drafter if drafter else ())):
            yield from layer.tensors
        yield from self.outside

    @property
    def parameters(self) -> int:
        """All values that are loaded without a drafter (count)."""
        return sum(tensor.parameters for tensor in self.tensors())

    @property
    def active_parameters(self) -> int:
        """Values of all parts that one token passes, the whole embedding included (count)."""
        return sum(
            tensor.parameters * layer.active_experts // layer.experts if tensor.part == "expert" else tensor.parameters
            for layer in self.layers
            for tensor in layer.tensors
        ) + sum(tensor.parameters for tensor in self.outside if tensor.part != "vision")
