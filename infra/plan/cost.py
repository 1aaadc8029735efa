"""What a model costs: by the hour, by the token in and out, by the request, and when nobody asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.catalog.boards import Board
from infra.catalog.prices import REFERENCES, Price
from infra.config.pools import Pool
from infra.config.prices import BoardPrice

if TYPE_CHECKING:
    from infra.plan.speed import Load, Speed

HOUR = 3600
"""Seconds in one hour. Source: SI."""

MILLION = 1_000_000
"""Tokens that a token price is for (count)."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one replica gets done when it is as busy as it may be."""

    prompt: int
    """Prompt of a request (tokens)."""
    output: int
    """Answer to it (tokens)."""
    requests_per_s: float
    prompt_share: float
    """Share of its time that goes to prompts; the rest goes to answers."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one model costs (US dollars)."""

    price: Price
    usd_per_hour: float
    """GPUs that its replicas use, busy or not."""
    floor_usd_per_hour: float
    """All hosts that it takes, whole: what is paid when nobody asks."""
    share: float
    """Share of what the replicas could do that is asked of them; the three below hold at it."""
    usd_per_request: float | None
    """Flat price of a request that pays for the hosts; None when nothing is asked or the speed is not known."""
    usd_per_million_in: float | None
    usd_per_million_out: float | None


def price_of(name: str, pool: Pool, board: Board, said: BoardPrice | None) -> Price | None:
    """Price of a pool: its own, else the user's for its board, else the public reference; None when nobody says."""
    if pool.usd_per_gpu_hour:
        return Price(pool.usd_per_gpu_hour, f"pools.{name}.usd_per_gpu_hour", "", "the stack file")
    if said:
        return Price(said.usd_per_gpu_hour, f"prices.{pool.board}", said.as_of.isoformat(), said.source)
    return REFERENCES.get(board.gpu.name) if board.gpu else None


def priced_units(board: Board, hosts: int) -> int:
    """How many times a price is paid for some hosts: once for each GPU, or for each host without any (count)."""
    return hosts * max(1, board.gpus)


def work_of(busy: Speed, alone: Speed, load: Load) -> Work:
    """Share a busy replica's time out between prompts and answers.

    Args:
        busy: speed at the load.
        alone: speed with one request, whose first token takes as long as its prompt takes to read.
    """
    requests_per_s = busy.tokens_per_s / load.output
    return Work(load.prompt, load.output, requests_per_s, min(1.0, requests_per_s * alone.ttft_s))


def cost(price: Price, *, used: int, held: int, replicas: int, work: Work | None, share: float = 1.0) -> Cost:
    """Divide what is paid by what is asked.

    Args:
        used: GPUs of all replicas, or hosts without GPUs (count).
        held: the same of all hosts that no other model may use then (count).
        share: share of what the replicas could do that is asked of them, 0 to 1.
    """
    hourly, floor = price.usd_per_gpu_hour * used, price.usd_per_gpu_hour * held
    requests = work.requests_per_s * replicas * share * HOUR if work else 0.0
    if work is None or requests <= 0:
        return Cost(price, hourly, floor, share, None, None, None)
    request = floor / requests
    per_in = request * work.prompt_share / work.prompt * MILLION
    per_out = request * (1 - work.prompt_share) / work.output * MILLION
    return Cost(price, hourly, floor, share, request, per_in, per_out)
