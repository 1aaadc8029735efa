"""Parts of an answer's time: on the way, in the queue, for the prompt, per token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.errors import Unknown
from runbooks.lib.diagnosis import Finding, measures

if TYPE_CHECKING:
    from infra.plan.facts import Objectives
    from runbooks.engine.context import Context

WAY_SECONDS = 0.5
"""P99 at the gateway this much above the engine's is the way's fault (s). Source: its first buckets are 0.25 s."""

QUEUE_SHARE = 0.5
"""Part of the time to the first token from which the queue is to blame. Source: our choice."""


@dataclass(frozen=True, slots=True)
class Times:
    """P99 of one model (s); None where nothing was measured."""

    gateway_first: float | None
    gateway_whole: float | None
    engine_first: float | None
    engine_whole: float | None
    queue: float | None
    token: float | None

    def __str__(self) -> str:
        parts = {
            "first token at the gateway": self.gateway_first, "in the engine": self.engine_first,
            "queue": self.queue, "per token": self.token, "whole answer at the gateway": self.gateway_whole,
            "whole in the engine": self.engine_whole,
        }  # fmt: skip
        return "P99: " + ", ".join(f"{name} {value:.2f} s" for name, value in parts.items() if value is not None)


def read(ctx: Context, model: str) -> Times:
    """Read the quantiles.

    Raises:
        Unknown: there was no request to measure, or nobody measures.
    """
    names = ("client_ttft", "client_e2e", "ttft", "e2e", "queue", "tpot")
    values = [measures.optional(ctx, f'max(model:{name}_seconds:p99{{model="$model"}})', model=model) for name in names]
    if values[0] is None and values[1] is None:
        raise Unknown(
            f"model {model!r} — no answer was measured at the gateway within minutes — latency cannot be told — "
            "see that clients ask and that job envoy is scraped"
        )
    return Times(*values)


def blame(times: Times, promised: Objectives | None) -> list[Finding]:
    """Name each part that takes too long."""
    return [*_way(times), *_first(times, promised), *_rest(times, promised)]


def _way(times: Times) -> Iterator[Finding]:
    pairs = (("first token", times.gateway_first, times.engine_first),
             ("whole answer", times.gateway_whole, times.engine_whole))  # fmt: skip
    for what, gateway, engine in pairs:
        if gateway is not None and engine is not None and gateway - engine > WAY_SECONDS:
            said = (
                f"the network between gateway and engine adds {gateway - engine:.2f} s: P99 of the {what} is "
                f"{gateway:.2f} s at the gateway and {engine:.2f} s in the engine; look for delay, loss and retries"
            )
            yield Finding("way", said)
            return


def _first(times: Times, promised: Objectives | None) -> Iterator[Finding]:
    first, queue = times.engine_first, times.queue
    if first is None or promised is None or first <= promised.first_token_s:
        return
    if queue is not None and queue > QUEUE_SHARE * first:
        said = f"requests wait {queue:.2f} s (P99) for a place in the batch, of {first:.2f} s to the first token"
        yield Finding("queue", said, None, ("scale_up", "shed_tier"))
    else:
        said = f"prompts take {first - (queue or 0):.2f} s (P99) to be read: long prompts, or few found in the cache"
        yield Finding("prompt", said, None, ("scale_up", "roll_back"))


def _rest(times: Times, promised: Objectives | None) -> Iterator[Finding]:
    if promised is None:
        return
    if times.token is not None and times.token > promised.token_s:
        said = (
            f"each token takes {times.token:.3f} s (P99), {promised.token_s:g} s promised: large batches or slow hosts"
        )
        yield Finding("tokens", said, None, ("scale_up", "shed_tier", "roll_back"))
    elif times.engine_whole is not None and times.engine_whole > promised.latency_s:
        said = f"whole answers take {times.engine_whole:.2f} s (P99) in the engine, {promised.latency_s:g} s promised"
        yield Finding("long", f"{said}, each token in time: clients ask for long answers", None, ("scale_up",))
