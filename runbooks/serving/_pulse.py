"""Whether an engine lives: it answers, and while it has requests it makes tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.errors import ConfigError, Unknown
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Pod

PAUSE_SECONDS = 4.0
"""Between two looks at the tokens of an engine (s). Source: a step of a full batch takes well under a second."""

HELPS = ("replace_pod", "restart")
"""Values of ``do`` that bring a hung engine back; a restart where several hang."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """What one engine says of itself."""

    running: float
    """Requests in its batch (count)."""
    waiting: float
    tokens: float
    """Tokens it has read and made since it began (count)."""


def read(page: str) -> Pulse:
    """Read the figures from a page of Prometheus' text form."""
    return Pulse(
        _sum(page, "vllm:num_requests_running"),
        _sum(page, "vllm:num_requests_waiting"),
        _sum(page, "vllm:generation_tokens_total") + _sum(page, "vllm:prompt_tokens_total"),
    )


def hung(ctx: Context, pods: Sequence[Pod], port: int) -> list[Finding]:
    """Engines that do not answer, or that have requests and make no token; asked directly, twice."""
    running = [pod for pod in pods if _runs(ctx, pod)]
    first = {pod.name: _pulse(ctx, pod, port) for pod in running}
    busy = [pod for pod in running if (seen := first[pod.name]) is not None and seen.running > 0]
    if busy:
        ctx.sleep(PAUSE_SECONDS)
    second = {pod.name: _pulse(ctx, pod, port) for pod in busy}
    return [found for pod in running for found in _judge(pod, first[pod.name], second.get(pod.name))]


def _judge(pod: Pod, before: Pulse | None, after: Pulse | None) -> Iterator[Finding]:
    ready = pod.conditions.get("Ready")
    since = ready.since if ready is not None and ready.status != "True" else None
    silent = before is None or (before.running > 0 and after is None)
    if silent:
        said = f"engine of pod {pod} hangs: its container runs and answers nothing"
        yield Finding("hung", said, since, HELPS, pod.name)
    elif before is not None and after is not None and after.running > 0 and after.tokens <= before.tokens:
        said = f"pod {pod} takes requests and gives no token: {after.running:g} run, none in {PAUSE_SECONDS:g} s"
        yield Finding("hung", said, since, HELPS, pod.name)


def _runs(ctx: Context, pod: Pod) -> bool:
    """Whether its container was begun and has been ready: one that still loads has nothing to say."""
    if pod.deleting or not pod.host or not any(one.state == "running" for one in pod.containers):
        return False
    started = all(status.get("started", True) for status in pod.raw.get("status", {}).get("containerStatuses", []))
    return started and not clients.of(ctx).kube.hosts.get(pod.host).simulated


def _pulse(ctx: Context, pod: Pod, port: int) -> Pulse | None:
    """What the engine says; None when it says nothing."""
    try:
        return read(clients.of(ctx).kube.pods.http(pod.namespace, pod.name, port, "/metrics"))
    except (Unknown, ConfigError) as error:
        # The API server answered a moment ago, when it listed the pods; so it is the pod that does not.
        ctx.say(f"pod {pod}: {error}")
        return None


def _sum(page: str, name: str) -> float:
    lines = re.findall(rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)", page, re.MULTILINE)
    return sum(map(float, lines))
