"""Groups of layers that share blocks: all groups draw from one pool, so a block weighs the same in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from infra.errors import ConfigError, Unknown
from infra.plan.cache.rules import Rules
from infra.plan.cache.spec import Spec
from infra.units import ceil_div

Held = tuple[int, Spec]
"""A pipeline stage and what one of its layers keeps."""


@dataclass(frozen=True, slots=True)
class Group:
    """Layers that one table of blocks serves."""

    held: tuple[Held, ...]

    @property
    def block_tokens(self) -> int:
        """Tokens in one block (count)."""
        return self.held[0][1].block_tokens

    def bytes_per_block(self, stage: int) -> int:
        """Of one block in all layers of a stage (bytes)."""
        return sum(spec.page_bytes for where, spec in self.held if where == stage)

    def blocks(self, length: int, in_flight: int) -> int:
        """Blocks that one request takes (count)."""
        return max(spec.blocks(length, in_flight) for spec in {spec for _, spec in self.held})


def group(held: Sequence[Held], rules: Rules, *, drafting: bool) -> tuple[Group, ...]:
    """Deal layers to groups as vLLM does.

    Source: vllm 0.32.0 v1/core/kv_cache_utils.py, get_kv_cache_groups.

    Raises:
        ConfigError: the engine itself would refuse.
        Unknown: it would take a way that was not read.
    """
    if any(spec.kind == "chunked" for _, spec in held) and (drafting or not rules.groups_chunked):
        held = _kept_whole(held)
    if _is_uniform([spec for _, spec in held]):
        return (Group(tuple(held)),)
    return _dealt(_unified(held, rules), rules)


def _kept_whole(held: Sequence[Held]) -> list[Held]:
    """With windows and chunks kept like full attention."""
    local = ("sliding", "chunked")
    return [(stage, replace(spec, kind="full", window=0) if spec.kind in local else spec) for stage, spec in held]


def _is_uniform(specs: Sequence[Spec]) -> bool:
    """Whether all layers need the same blocks at all lengths, so that one group holds them."""
    first = specs[0]
    if any(spec.block_tokens != first.block_tokens for spec in specs):
        return False
    if first.keeps_all:
        return all(spec.keeps_all for spec in specs)
    return len({_need(spec) for spec in specs}) == 1


def _need(spec: Spec) -> tuple[str, int, int, int]:
    """What decides how many blocks a layer needs, if not all tokens stay; states differ in size too."""
    return spec.kind, spec.window, spec.states, spec.page_bytes if spec.kind == "state" else 0


def _unified(held: Sequence[Held], rules: Rules) -> list[Held]:
    """With pages of one size: more tokens a block where it comes out even, padding where not."""
    sizes = {spec.page_bytes for _, spec in held}
    largest = max(sizes)
    if len(sizes) > 1 and not rules.scales_blocks:
        raise ConfigError(
            f"vllm {rules.since[0]}.{rules.since[1]} — the model's layers have KV pages of {sorted(sizes)} bytes; "
            "it holds layers with pages of one size only; use 0.12 or newer"
        )
    return [(stage, _with_page(spec, largest, rules)) for stage, spec in held]


def _with_page(spec: Spec, page: int, rules: Rules) -> Spec:
    if spec.kind == "state":
        return spec.padded(page)
    if page % spec.page_bytes == 0:
        return spec.scaled(page)
    if rules.pads_pages and spec.kind not in ("latent", "index"):
        return spec.padded(page)
    raise Unknown(
        f"vllm {rules.since[0]}.{rules.since[1]} — a KV page of {spec.page_bytes} bytes does not divide the largest, "
        f"{page}, and may not be padded; read the pool from the engine's log with infra fit"
    )


def _dealt(held: Sequence[Held], rules: Rules) -> tuple[Group, ...]:
    """Groups of one size; the last of a kind has fewer layers and wastes the rest of its blocks."""
    kinds: dict[Spec, list[Held]] = {}
    for stage, spec in held:
        kinds.setdefault(spec, []).append((stage, spec))
    fewest, most = (pick(len(layers) for layers in kinds.values()) for pick in (min, max))
    size = most if most < fewest * rules.near else fewest
    counts = ((layers, ceil_div(len(layers), size)) for layers in kinds.values())
    return tuple(Group(tuple(layers[part::parts])) for layers, parts in counts for part in range(parts))
