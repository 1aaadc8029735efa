"""What one pass through a model costs one rank at the peaks of its GPU: weights, cache, arithmetic, links."""

from __future__ import annotations

from dataclasses import dataclass

from infra.catalog import collectives
from infra.catalog.architecture import Architecture
from infra.plan.speed.shares import Machine, Share, Work, head, shares


@dataclass(frozen=True, slots=True)
class Batch:
    """What goes through a model in one pass, over all data-parallel ranks."""

    requests: float
    """Requests (count); a mean may be broken."""
    tokens: float
    """New tokens of each."""
    context: float
    """Tokens that a new one attends to, on the mean."""
    is_prompt: bool
    """Whether prompts are read or answers written."""


@dataclass(frozen=True, slots=True)
class Costs:
    """One pass on one rank, each resource by itself and at its peak (seconds)."""

    weights: float = 0.0
    """Matrices that every token passes, and recurrent states, read and written."""
    experts: float = 0.0
    """Experts that at least one token chose, read."""
    cache: float = 0.0
    """Keys and values that are attended to, read."""
    bf16: float = 0.0
    """Arithmetic in bf16."""
    small: float = 0.0
    """Arithmetic in a smaller format."""
    small_bf16: float = 0.0
    """The same arithmetic, had it been in bf16."""
    links: float = 0.0
    """Collectives as measured, beyond what the smallest message takes."""
    exchanges: float = 0.0
    """Collectives (count)."""
    layers: float = 0.0
    """Layers one after another (count)."""


class Model:
    """A model on a machine."""

    def __init__(self, architecture: Architecture, machine: Machine) -> None:
        self.machine = machine
        self.hidden = architecture.hidden
        self.shares = shares(architecture, machine)
        self.head = head(architecture, machine)

    def costs(self, batch: Batch) -> Costs:
        """Cost of one pass; ranks of a layer work at the same time, pipeline stages one after another."""
        rows = [self._layers(share, batch) for share in self.shares]
        rows.append(self._outside(batch))
        return Costs(*(sum(column) for column in zip(*rows, strict=True)))

    def _layers(self, share: Share, batch: Batch) -> tuple[float, ...]:
        requests = batch.requests / self.machine.layout.data
        own, every = requests * batch.tokens, batch.requests * batch.tokens
        read = attend = 0.0
        for seen in share.caches:
            entries = min(batch.context, seen.cap) / seen.compress
            read += entries * seen.read
            attend += entries * (seen.attend if batch.is_prompt else seen.attend_absorbed)
        touched = 1 - (1 - share.chosen) ** every
        chosen, always = share.experts, share.always
        links, exchanges = self._exchange(share, own)
        row = (
            always.read + share.states * requests,
            chosen.read * touched,
            read * requests,
            always.bf16 * own + chosen.bf16 * share.chosen * every + attend * own,
            always.small * own + chosen.small * share.chosen * every,
            always.small_bf16 * own + chosen.small_bf16 * share.chosen * every,
            links,
            exchanges,
            1.0,
        )
        return tuple(value * share.layers for value in row)

    def _exchange(self, share: Share, tokens: float) -> tuple[float, float]:
        """Sum after attention and after the feed-forward part, or the way of tokens to experts and back."""
        layout, gpu = self.machine.layout, self.machine.gpu
        size = tokens * self.hidden * 2
        calls: list[tuple[collectives.Operation, int, float]] = []
        if layout.tensor > 1:
            calls = [("all_reduce", layout.tensor, size)] * 2
        if share.chosen and layout.data > 1:
            ranks, all_tokens = layout.expert_ranks, size * layout.data
            calls = [*calls[:1], ("all_gather", ranks, all_tokens), ("reduce_scatter", ranks, all_tokens)]
        return sum(collectives.excess(gpu, *call) for call in calls), float(len(calls))

    def _outside(self, batch: Batch) -> tuple[float, ...]:
        """Scores of the last token of each request, and the way from one pipeline stage to the next."""
        layout, own = self.machine.layout, batch.requests / self.machine.layout.data
        work: Work = self.head
        hops = float(layout.pipeline - 1)
        return (work.read, 0.0, 0.0, work.bf16 * own, work.small * own, work.small_bf16 * own, 0.0, hops, 0.0)
