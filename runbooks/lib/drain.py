"""Empty one host without cutting a request: a replacement serves before each replica leaves.

The order: cordon; raise each Deployment by the replicas it has here and wait until those elsewhere are ready; lower it
again, with the pods here marked as the cheapest to lose. A pod that leaves is out of routing at once, and its own grace
lets its answers end. What is left is evicted as disruption budgets allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from infra.errors import CheckError, Unknown
from runbooks.engine.model import Outcome
from runbooks.lib import clients, room
from runbooks.lib.kubernetes.views import Pod, instant

if TYPE_CHECKING:
    from runbooks.engine.context import Context

COST = "controller.kubernetes.io/pod-deletion-cost"
"""Annotation by which a ReplicaSet chooses whom to lose. Source: kubernetes.io, ReplicaSet, Pod deletion cost."""

CHEAPEST = "-1000"
"""Cost of a pod that should go first; others have 0."""

LOOK_SECONDS = 2.0
"""Pause between two looks at pods that leave (s)."""


@dataclass(frozen=True, slots=True)
class _Raise:
    """One Deployment that is raised for a while."""

    namespace: str
    name: str
    before: int
    after: int
    pods: tuple[str, ...]
    """Its pods on the host that is drained."""


def movable(pods: Sequence[Pod]) -> list[Pod]:
    """Pods that a drain moves: all but those that belong to the host or have ended."""
    return [pod for pod in pods if not (pod.is_daemon or pod.is_mirror or pod.is_over)]


def refusals(ctx: Context, host: str, *, interrupt: bool = False) -> list[str]:
    """Reasons not to drain a host, all of them.

    Args:
        interrupt: accept that a replica is missing until another has a place.
    """
    kube = clients.of(ctx).kube
    hosts, pods = kube.hosts.list(), kube.pods.list()
    kube.hosts.get(host)
    leaving = [pod for pod in movable(pods) if pod.host == host and not pod.deleting]
    found = [
        f"pod {pod} — has no controller that would bring it back — move it by hand" for pod in leaving if not pod.owner
    ]
    if interrupt:
        return found
    others = [other for other in hosts if other.name != host]
    homeless = room.without_place([pod for pod in leaving if pod.owner], others, pods)
    return found + [
        f"pod {pod} — has no place but on host {host} ({_wish(pod)}) — add a host, or accept the interruption"
        for pod in homeless
    ]


def drain(ctx: Context, host: str, *, timeout: timedelta, interrupt: bool = False) -> Outcome:
    """Cordon a host and move every pod off it; it stays cordoned for this run until ``undo``.

    Args:
        timeout: for the whole of it; a replacement may have to load its weights.
        interrupt: accept that a replica is missing until another has a place.
    """
    if reasons := refusals(ctx, host, interrupt=interrupt):
        return Outcome.stop("; ".join(reasons))
    kube, end = clients.of(ctx).kube, datetime.now(UTC) + timeout
    leaving = [pod for pod in movable(kube.pods.list(host=host)) if not pod.deleting]
    raises = [] if interrupt else list(_raises(ctx, leaving))
    facts = {"host": host, "reason": kube.hosts.own_reason, "raises": [_plain(one) for one in raises]}
    ctx.record(drain=facts | {"pods": [str(pod) for pod in leaving]})
    kube.hosts.cordon(host)
    for one in raises:
        _replace(ctx, host, one, end)
    for one in raises:
        for name in one.pods:
            kube.pods.annotate(one.namespace, name, {COST: CHEAPEST})
        kube.deployments.scale(one.namespace, one.name, one.before)
    if ctx.dry:
        return Outcome.ok(f"host {host} would be emptied of {len(leaving)} pods", pods=len(leaving))
    late = _leave(ctx, host, leaving, end)
    if left := movable(kube.pods.list(host=host)):
        raise CheckError(
            f"host {host} — was drained and has pods {', '.join(map(str, left))} — see who puts them there"
        )
    said = f"host {host} is empty; {len(leaving)} pods moved"
    return Outcome.ok(f"{said}, {len(late)} of them killed at the end of their grace" if late else said, killed=late)


def undo(ctx: Context, step: str) -> Outcome:
    """Give a drained host back: replicas as before, and the cordon of this run gone; may run twice."""
    facts = ctx.facts.get(step, {}).get("drain")
    if not facts:
        return Outcome.ok("nothing was drained")
    kube = clients.of(ctx).kube
    for one in facts["raises"]:
        # Only what is still as we left it: somebody else may have scaled since.
        if kube.deployments.get(one["namespace"], one["name"]).replicas == one["after"] != one["before"]:
            kube.deployments.scale(one["namespace"], one["name"], one["before"])
        for name in one["pods"]:
            pod = kube.pods.find(one["namespace"], name)
            if pod is not None and not pod.deleting and COST in pod.annotations:
                kube.pods.annotate(one["namespace"], name, {COST: None})
    kube.hosts.uncordon(facts["host"], facts["reason"])
    return Outcome.ok(f"host {facts['host']} is given back")


def _raises(ctx: Context, leaving: Sequence[Pod]) -> Iterator[_Raise]:
    """Deployments with ready replicas here; one that is not ready serves nobody and needs no replacement first."""
    kube = clients.of(ctx).kube
    groups: dict[tuple[str, str], list[str]] = {}
    for pod in leaving:
        kind, _, name = pod.owner.partition("/")
        if kind != "ReplicaSet" or not pod.ready:
            continue
        owner = kube.get("apps/v1", "ReplicaSet", pod.namespace, name) or {"metadata": {}}
        for entry in owner["metadata"].get("ownerReferences", []):
            if entry["kind"] == "Deployment":
                groups.setdefault((pod.namespace, entry["name"]), []).append(pod.name)
    for (namespace, name), names in groups.items():
        before = kube.deployments.get(namespace, name).replicas
        yield _Raise(namespace, name, before, before + len(names), tuple(names))


def _replace(ctx: Context, host: str, one: _Raise, end: datetime) -> None:
    kube = clients.of(ctx).kube
    labels = kube.deployments.get(one.namespace, one.name).raw["spec"]["selector"]["matchLabels"]

    def ready_elsewhere() -> int:
        found = kube.pods.list(one.namespace, labels=labels)
        return sum(pod.ready and not pod.deleting and pod.host != host for pod in found)

    wanted = ready_elsewhere() + len(one.pods)
    kube.deployments.scale(one.namespace, one.name, one.after)
    what = f"{len(one.pods)} replacements of deployment {one.namespace}/{one.name} are ready off host {host}"
    ctx.until(lambda: ready_elsewhere() >= wanted, timeout=_left(end), what=what)


def _leave(ctx: Context, host: str, leaving: Sequence[Pod], end: datetime) -> list[str]:
    """Evict what does not leave by itself and wait for all; gives the pods that were killed before they had done."""
    kube, late = clients.of(ctx).kube, []
    # A ReplicaSet needs a moment to choose; whom it did not choose is evicted.
    ctx.sleep(LOOK_SECONDS)
    for pod in leaving:
        found = kube.pods.find(pod.namespace, pod.name)
        if found is not None and found.uid == pod.uid and not found.deleting:
            kube.pods.evict(pod.namespace, pod.name, timeout=_left(end))
    for pod in leaving:
        if _sees_off(ctx, pod, end):
            late.append(str(pod))
    return late


def _sees_off(ctx: Context, pod: Pod, end: datetime) -> bool:
    """Wait for one pod to go, telling what it still answers; True when it took its whole grace."""
    kube, deadline = clients.of(ctx).kube, None
    running, told = "", ""

    def gone() -> bool:
        nonlocal deadline, running, told
        found = kube.pods.find(pod.namespace, pod.name)
        if found is None or found.uid != pod.uid:
            return True
        deadline = instant(found.raw["metadata"].get("deletionTimestamp"))
        running = _running(ctx, pod)
        if running != told:
            ctx.say(f"pod {pod} leaves; {running}")
            told = running
        return False

    ctx.until(gone, timeout=_left(end), every=LOOK_SECONDS, what=f"pod {pod} is gone")
    return deadline is not None and datetime.now(UTC) > deadline


def _running(ctx: Context, pod: Pod) -> str:
    try:
        query = 'sum(vllm:num_requests_running{namespace="$namespace", pod="$pod"})'
        count = clients.of(ctx).prometheus.value(query, namespace=pod.namespace, pod=pod.name)
    except Unknown:
        return "how many requests it still answers is not known"
    return f"{count:g} requests run on it"


def _left(end: datetime) -> timedelta:
    return max(timedelta(seconds=1), end - datetime.now(UTC))


def _wish(pod: Pod) -> str:
    shown = {name: amount for name, amount in pod.requests.items() if name in ("cpu", "memory") or "/" in name}
    return ", ".join(f"{amount:g} {name}" for name, amount in sorted(shown.items()))


def _plain(one: _Raise) -> dict[str, Any]:
    return {
        "namespace": one.namespace,
        "name": one.name,
        "before": one.before,
        "after": one.after,
        "pods": list(one.pods),
    }
