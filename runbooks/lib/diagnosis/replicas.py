"""Which replicas of a Deployment serve, and what is wrong with those that do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from runbooks.lib import clients
from runbooks.lib.diagnosis import pods
from runbooks.lib.diagnosis.finding import Finding

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Deployment, Event, Pod

GONE = ("Killing", "Evicted", "Preempted", "TaintManagerEviction", "NodeNotReady", "OOMKilling")
"""Reasons of events that tell the end of a pod. Source: kubelet and controllers of Kubernetes 1.36."""


def missing(live: Deployment, planned: int) -> Iterator[Finding]:
    """Tell how many replicas lack, and of a Deployment that asks for fewer than planned."""
    condition = live.conditions.get("Available")
    since = condition.since if condition is not None and condition.status != "True" else None
    if live.ready < planned:
        said = f"{live.ready} of {planned} planned replicas of deployment {live} are ready"
        yield Finding("down" if not live.ready else "missing", said, since, (), live.name)
    if live.replicas < planned:
        said = f"deployment {live} asks for {live.replicas} replicas, the plan has {planned}"
        yield Finding("scaled down", said, None, ("roll_back",), live.name)
    progress = live.conditions.get("Progressing")
    if progress is not None and progress.reason == "ProgressDeadlineExceeded":
        yield Finding("rollout stuck", f"the rollout of deployment {live} is stuck: {progress.message}",
                      progress.since, ("roll_back",), live.name)  # fmt: skip
    elif live.updated < live.replicas or live.total > live.replicas:
        said = f"deployment {live} is being rolled: {live.updated} of {live.replicas} replicas are new"
        yield Finding("rolling", said, progress.since if progress else None, ("roll_back",), live.name)


def states(ctx: Context, found: Sequence[Pod], *, budget: timedelta) -> list[Finding]:
    """What Kubernetes says of each pod, and of the hosts they are on."""
    kube, now, result = clients.of(ctx).kube, datetime.now(UTC), list[Finding]()
    for pod in found:
        result += pods.faults(pod, kube.events.of("Pod", pod.namespace, pod.name), now, budget=budget)
    for name in sorted({pod.host for pod in found if pod.host}):
        host = kube.hosts.get(name)
        if not host.ready:
            ready = host.conditions.get("Ready")
            why = f" ({ready.reason}: {ready.message})" if ready is not None else ""
            said = f"host {name}, which pods of it are on, is not ready{why}; see host/recover_host"
            result.append(Finding("host", said, ready.since if ready else None, (), name))
    return result


def departed(ctx: Context, namespace: str, name: str, live: Sequence[Pod]) -> list[Finding]:
    """Pods of a Deployment that ended lately and are gone or going, and those that serve in their stead.

    A fault that healed before anyone looked leaves these traces and no other.
    """
    there = {pod.name for pod in live if not pod.deleting}
    told: dict[str, Event] = {}
    for event in clients.of(ctx).kube.events.recent(namespace, within=pods.RECENT):
        # A pod bears its Deployment's name, the hash of its template and five characters of its own.
        of_ours = event.kind == "Pod" and event.name.rsplit("-", 2)[0] == name
        if of_ours and event.reason in GONE and event.name not in there:
            told.setdefault(event.name, event)
    gone = [
        Finding("departed", f"pod {namespace}/{pod} ended ({event.reason}: {event.message})", event.at, (), pod)
        for pod, event in told.items()
    ]
    return gone + [_new(pod) for pod in live if gone and pod.ready and datetime.now(UTC) - pod.created <= pods.RECENT]


def _new(pod: Pod) -> Finding:
    ready = pod.conditions.get("Ready")
    said = f"pod {pod} is new, made {pod.created:%Y-%m-%d %H:%M:%S} UTC, and ready"
    return Finding("new", said, ready.since if ready is not None else None, (), pod.name)
