"""What one layer keeps, as the engine counts it: tokens in a block and bytes in a page."""

from __future__ import annotations

from dataclasses import dataclass, replace

from infra.catalog.architecture import Architecture, Cache, Kind
from infra.errors import Unknown
from infra.plan.cache.formats import entry_bytes, pad, state_bytes
from infra.plan.cache.request import Request
from infra.plan.cache.rules import Rules
from infra.units import ceil_div

KERNEL_TOKENS = 16
"""Tokens in the smallest block of the attention kernels. Source: vllm 0.32.0 v1/attention/backends/flash_attn.py."""

LATENT_TOKENS = 64
"""Tokens in a block of MLA. Source: vllm 0.32.0 v1/attention/backends/mla: flashmla.py 64, flashinfer_mla.py 32 or
64, sparse ones 64; cutlass_mla.py 128."""

_MAMBA2 = ("NemotronH", "Mamba2", "Bamba", "GraniteMoeHybrid", "FalconH1", "Zamba2")
"""Beginnings of classes with Mamba2 layers. Source: vllm 0.32.0 model_executor/models, users of MambaMixer2."""

_FLOAT32_STATE = "NemotronH"
"""Beginning of the classes whose recurrent state is float32 unless the config says otherwise; that of others is of
the model's type. Source: vllm 0.32.0 model_executor/models/config.py, NemotronHForCausalLMConfig."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What one layer keeps of a request; layers with equal ones share blocks."""

    kind: Kind
    block_tokens: int
    entry_bytes: int
    """Of one token, or of the states of one request (bytes)."""
    page_bytes: int
    """Of one block in this layer (bytes)."""
    window: int = 0
    """Tokens of the window, chunk or encoder."""
    states: int = 0
    """States that a request keeps (count)."""

    @property
    def keeps_all(self) -> bool:
        """Whether a token stays until its request ends."""
        return self.kind in ("full", "latent", "index")

    def scaled(self, page_bytes: int) -> Spec:
        """With as many more tokens a block as the page grows."""
        return replace(self, block_tokens=self.block_tokens * (page_bytes // self.page_bytes), page_bytes=page_bytes)

    def padded(self, page_bytes: int) -> Spec:
        """With a larger page and the same tokens in it."""
        return replace(self, page_bytes=page_bytes)

    def blocks(self, length: int, in_flight: int) -> int:
        """Blocks that a request of a length takes at most, with so many tokens on their way (count).

        Source: vllm 0.32.0 v1/kv_cache_interface.py, max_memory_usage_bytes of each kind.
        """
        if self.kind == "state":
            return self.states
        if self.kind == "cross":
            return ceil_div(self.window, self.block_tokens)
        if self.kind == "sliding":
            # A window may begin in the middle of a block, hence the one more.
            return ceil_div(min(self.window - 1 + in_flight, length), self.block_tokens) + 1
        if self.kind == "chunked":
            return ceil_div(min(self.window + in_flight, length), self.block_tokens)
        return ceil_div(length, self.block_tokens)


def specs(architecture: Architecture, request: Request, rules: Rules, ranks: int) -> tuple[tuple[Spec, ...], ...]:
    """Say what each layer keeps, the drafter's behind the model's (tuple by layer).

    Raises:
        Unknown: a layer keeps what vLLM packs in a way that was not read.
    """
    layers = (*architecture.layers, *(architecture.drafter if request.speculative_tokens else ()))
    block = _block_tokens(architecture, request, rules, ranks)
    seen: dict[Cache, Spec] = {}
    for cache in {id(cache): cache for layer in layers for cache in layer.caches}.values():
        if cache not in seen:
            seen[cache] = _spec(architecture, cache, request, rules, ranks, block)
    return tuple(tuple(seen[cache] for cache in layer.caches) for layer in layers)


def _spec(architecture: Architecture, cache: Cache, request: Request, rules: Rules, ranks: int, block: int) -> Spec:
    if cache.compress != 1:
        raise Unknown(
            f"model {architecture.name!r} — keeps one entry for {cache.compress} tokens, in pages of several sizes; "
            "a figure for them would be a guess; read the pool from the engine's log with infra fit"
        )
    if cache.kind == "state":
        return _state(architecture, cache, request, rules, ranks, block)
    entry = entry_bytes(architecture, cache, request.kv_dtype, ranks)
    tokens, window = block, cache.window
    if cache.kind == "sliding":
        tokens = KERNEL_TOKENS if rules.small_windows else block
        if rules.retains_drafts and len(architecture.drafter) > 1:
            window += max(0, request.speculative_tokens - 1)
    return Spec(cache.kind, tokens, entry, tokens * entry, window=window)


def _state(architecture: Architecture, cache: Cache, request: Request, rules: Rules, ranks: int, block: int) -> Spec:
    size = _state_bytes(architecture, cache, request, rules, ranks)
    page = block * _attention_bytes(architecture, request, ranks) or size
    # Without prefix caching a block of states is of the whole request.
    tokens = block if request.prefix_caching and rules.cached_states > 1 else request.max_len
    return Spec("state", tokens, size, page, states=_states(architecture, request, rules))


def _drafted(request: Request, rules: Rules) -> int:
    return request.speculative_tokens if rules.drafted_states else 0


def _states(architecture: Architecture, request: Request, rules: Rules) -> int:
    """States that a request keeps in one recurrent layer (count)."""
    drafted = _drafted(request, rules)
    if not request.prefix_caching:
        return 1 + drafted
    return rules.cached_states + drafted + (rules.checkpoints_prefill and architecture.family.startswith(_MAMBA2))


def _state_bytes(architecture: Architecture, cache: Cache, request: Request, rules: Rules, ranks: int) -> int:
    temporal = "float32" if architecture.family.startswith(_FLOAT32_STATE) else architecture.dtype
    return state_bytes(architecture, cache, ranks, _drafted(request, rules), temporal=temporal)


def _attention_bytes(architecture: Architecture, request: Request, ranks: int) -> int:
    """Of one token in the first layer that attends; 0 in a model without (bytes)."""
    kept = (cache for layer in architecture.layers for cache in layer.caches if cache.kind not in ("state", "index"))
    cache = next(kept, None)
    return entry_bytes(architecture, cache, request.kv_dtype, ranks) if cache else 0


def _block_tokens(architecture: Architecture, request: Request, rules: Rules, ranks: int) -> int:
    """Tokens in a block, raised until a page of attention holds the state of a recurrent layer."""
    caches = {id(cache): cache for layer in architecture.layers for cache in layer.caches}.values()
    latent = any(cache.kind == "latent" for cache in caches)
    block = request.block_tokens or (LATENT_TOKENS if latent else KERNEL_TOKENS)
    states = (_state_bytes(architecture, kept, request, rules, ranks) for kept in caches if kept.kind == "state")
    state = max(states, default=0)
    per_token = _attention_bytes(architecture, request, ranks)
    if not state or not per_token:
        return block
    step = max(block, rules.latent_align if latent else KERNEL_TOKENS)
    return max(block, pad(ceil_div(state, per_token), step))
