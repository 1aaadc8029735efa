"""The pool of one rank: its blocks, the requests they hold and the longest that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infra.catalog.architecture import Architecture
from infra.catalog.engines import Engine
from infra.errors import ConfigError
from infra.plan.cache.groups import Group, group
from infra.plan.cache.request import Request
from infra.plan.cache.rules import rules_for
from infra.plan.cache.spec import specs
from infra.plan.cache.tokens import token_groups
from infra.plan.layout import Layout


@dataclass(frozen=True, slots=True)
class Pool:
    """What one rank keeps; with data parallelism each of the ranks that share the experts has its own."""

    blocks: int
    """On the rank that has fewest (count); never below zero."""
    block_tokens: int
    """Tokens in a block of attention; a request never shares its last one."""
    bytes_per_block: int
    """On the rank that has fewest blocks (bytes)."""
    groups: tuple[Group, ...]
    """Tables of blocks; a request takes some from each."""
    in_flight: int
    """Tokens on their way that a window keeps beside itself (count)."""
    tokens: int
    """As the engine logs them: not a rate where layers differ, so do not divide the pool by it."""
    bytes_per_token: int | None
    """Of one token on the rank that has fewest blocks; None where windows or states make one figure nonsense."""
    max_seqs: int
    """Requests that the engine runs at once (count)."""
    spare_blocks: int = 0
    """Blocks that the engine never gives to a request (count)."""

    def blocks_per_request(self, length: int) -> int:
        """Blocks that a request of so many tokens takes at most (count)."""
        return sum(part.blocks(length, self.in_flight) for part in self.groups)

    def concurrency(self, length: int) -> float:
        """Requests of so many tokens that fit at once, as the engine logs it for the longest."""
        return self.blocks / self.blocks_per_request(length)

    def requests(self, length: int) -> int:
        """Whole requests of so many tokens that the engine runs at once without taking one back (count)."""
        return min(self.max_seqs, max(0, self.blocks - self.spare_blocks) // self.blocks_per_request(length))

    def longest(self, max_context: int) -> int:
        """Longest request that fits, 0 where not even one token does (tokens)."""
        free = self.blocks - self.spare_blocks
        low, high = 0, max_context
        while low < high:
            middle = (low + high + 1) // 2
            if self.blocks_per_request(middle) <= free:
                low = middle
            else:
                high = middle - 1
        return low


def pool(  # noqa: PLR0913  the engine's own settings under their own names, all by keyword
    architecture: Architecture,
    layout: Layout,
    *,
    engine: Engine,
    pool_bytes: int | Sequence[int],
    kv_dtype: str,
    block_tokens: int | None,
    max_len: int,
    batched_tokens: int,
    max_seqs: int,
    prefix_caching: bool = True,
    speculative_tokens: int = 0,
    version: tuple[int, int] | None = None,
) -> Pool:
    """Divide what is left for keys, values and states into blocks, by the engine's rules.

    Args:
        architecture, layout: the model, and how it is dealt to ranks.
        engine, version: row of the catalog and (major, minor); None: the newest that the row holds for.
        pool_bytes: of one rank, or of a rank of each pipeline stage (bytes).
        kv_dtype, block_tokens, max_len, batched_tokens, max_seqs, prefix_caching, speculative_tokens: see ``Request``.

    Raises:
        ConfigError: the engine would refuse, or the model keeps nothing.
        Unknown: what the engine would do was not read.
    """
    request = Request(kv_dtype, max_len, batched_tokens, max_seqs, block_tokens, prefix_caching, speculative_tokens)
    budgets = [pool_bytes] * layout.pipeline if isinstance(pool_bytes, int) else list(pool_bytes)
    if not any(layer.caches for layer in architecture.layers):
        raise ConfigError(
            f"model {architecture.name!r} — keeps nothing of a request, and only models that write answers are "
            "planned; serve it outside of this plan"
        )
    if engine.name == "vllm":
        return _vllm(architecture, layout, engine, budgets, request, version)
    return _divided(token_groups(architecture, layout, request, engine), budgets, request, request.max_len, spare=0)


def _vllm(
    architecture: Architecture,
    layout: Layout,
    engine: Engine,
    budgets: Sequence[int],
    request: Request,
    version: tuple[int, int] | None,
) -> Pool:
    rules = rules_for(engine, version)
    kept = specs(architecture, request, rules, layout.tensor)
    counts = layout.stages(len(architecture.layers))
    stages = [stage for stage, count in enumerate(counts) for _ in range(count)]
    # The drafter sits on the last stage, behind the model's last layer.
    stages += [layout.pipeline - 1] * (len(kept) - len(stages))
    held = [(stage, spec) for stage, layer in zip(stages, kept, strict=True) for spec in layer]
    groups = group(held, rules, drafting=request.speculative_tokens > 0)
    in_flight = rules.batches(layout.pipeline) * request.batched_tokens
    return _divided(groups, budgets, request, in_flight, spare=1, logs_concurrency=rules.logs_concurrency)


def _divided(
    groups: tuple[Group, ...],
    budgets: Sequence[int],
    request: Request,
    in_flight: int,
    *,
    spare: int,
    logs_concurrency: bool = True,
) -> Pool:
    weights = [max(part.bytes_per_block(stage) for part in groups) for stage in range(len(budgets))]
    blocks, weight = min((max(0, budget) // weight, weight) for budget, weight in zip(budgets, weights, strict=True)
                         if weight)  # fmt: skip
    per_request = sum(part.blocks(request.max_len, in_flight) for part in groups)
    smallest = min(part.block_tokens for part in groups)
    # As a float, because the engine's own log rounds the same product down.
    tokens = int(blocks / per_request * request.max_len) if logs_concurrency else blocks // len(groups) * smallest
    grows = [part for part in groups if part.held[0][1].keeps_all]
    return Pool(
        blocks=blocks,
        block_tokens=(grows or groups)[0].block_tokens,
        bytes_per_block=weight,
        groups=groups,
        in_flight=in_flight,
        tokens=tokens,
        bytes_per_token=weight // smallest if len(groups) == len(grows) == 1 else None,
        max_seqs=request.max_seqs,
        spare_blocks=spare,
    )
