"""Settings of an engine that change what a request keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """What requests may look like and how the engine keeps them."""

    kv_dtype: str
    """Format of cached keys and values; ``auto``: that of the model."""
    max_len: int
    """Longest request that the engine admits (tokens)."""
    batched_tokens: int
    """Tokens in one batch; a sliding window keeps them beside itself until they are done."""
    max_seqs: int
    """Requests in one batch (count)."""
    block_tokens: int | None = None
    """Tokens in one block; None: the engine's default."""
    prefix_caching: bool = True
    """Whether answers reuse what earlier requests left; a recurrent layer then keeps one state more."""
    speculative_tokens: int = 0
    """Tokens that a drafter proposes; above 0 its layers keep keys too (count)."""
