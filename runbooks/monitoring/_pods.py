"""The pods that watch: which there are, what is wrong with them, and how one is replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from infra.errors import ConfigError
from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis import Finding, found, pods
from runbooks.lib.diagnosis.finding import findings
from runbooks.lib.mitigations.remedy import Remedy

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Pod

NAME = "app.kubernetes.io/name"
"""Label by which the parts of the monitoring are told apart."""

BUDGET = timedelta(minutes=3)
"""How long one may take to become ready; Prometheus reads its log first. Source: seen in the lab, 10 s; ours."""


class RestartPod(Remedy):
    """``do=restart_pod``: replace a pod of the monitoring that is at fault; its controller makes an equal one."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """Prometheus and the others must be ours."""
        yield from super().against(ctx, do)
        watched = clients.of(ctx).plan.observability
        if do == "restart_pod" and (watched is None or not watched.installs):
            yield "restart_pod — the monitoring is not this stack's — tell who runs it"

    @step("see that a restart helps", writes=False, only="restart_pod")
    def restart_pod_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if no pod of the monitoring is at fault."""
        return self.fit(ctx, "restart_pod")

    # Nothing to undo: the new pod is made of the same template, and the old one cannot be had again.
    @step("replace the pod at fault", only="restart_pod", timeout=timedelta(minutes=10))
    def restart_pod(self, ctx: Context) -> Outcome:
        """Delete each pod at fault, and wait until its successor is ready."""
        kube, done = clients.of(ctx).kube, list[str]()
        for name in dict.fromkeys(one.about for one in findings(ctx) if "restart_pod" in one.offers):
            pod = kube.pods.find(namespace(ctx), name)
            if pod is None:
                continue
            ctx.record(deleted=[*done, str(pod)])
            kube.pods.delete(pod.namespace, pod.name)
            done.append(str(pod))
            ctx.until(partial(_succeeded, ctx, pod), timeout=BUDGET * 2, what=f"a successor of pod {pod} is ready")
        return Outcome.ok(f"{', '.join(done)} replaced" if done else "the pods at fault are gone by now")


def namespace(ctx: Context) -> str:
    """Namespace of the monitoring.

    Raises:
        ConfigError: nothing watches the stack.
    """
    watched = clients.of(ctx).plan.observability
    if watched is None:
        raise ConfigError(f"stack {ctx.stack!r} — nothing watches it — set observability.enabled in its file")
    return watched.namespace


def of_part(ctx: Context, part: str) -> Sequence[Pod]:
    """Pods of one part, such as ``prometheus``; those on their way out too."""
    return clients.of(ctx).kube.pods.list(namespace(ctx), labels={NAME: part})


def faults(ctx: Context, part: str) -> list[Finding]:
    """What is wrong with the pods of a part; that there is none is wrong too."""
    there = of_part(ctx, part)
    if not there:
        return [Finding("no pod", f"there is no pod of {part} in namespace {namespace(ctx)}", None, (), part)]
    result = []
    for pod in there:
        events = clients.of(ctx).kube.events.of("Pod", pod.namespace, pod.name)
        for one in pods.faults(pod, events, datetime.now(UTC), budget=BUDGET):
            offers = ("restart_pod",) if "replace_pod" in one.offers else ()
            result.append(Finding(one.fault, one.said, one.since, offers, one.about))
    return result


def silent(ctx: Context, part: str, said: str) -> list[Finding]:
    """A part that does not answer, although Kubernetes may find nothing wrong with its pods."""
    known = faults(ctx, part)
    known = known or [
        Finding("hung", f"{said}, while pod {pod} is ready", None, ("restart_pod",), pod.name)
        for pod in of_part(ctx, part)
    ]
    return [Finding("down", said, None, (), part), *known]


def is_down(ctx: Context) -> bool:
    """Whether an earlier step found that Prometheus does not answer."""
    return any(one.about == "prometheus" for one in found(ctx, "down"))


def _succeeded(ctx: Context, old: Pod) -> bool:
    """Whether another pod of the same part is ready, on the same host where each host has one."""
    return any(
        pod.ready and pod.uid != old.uid and not pod.deleting and (not old.is_daemon or pod.host == old.host)
        for pod in of_part(ctx, old.labels.get(NAME, ""))
    )
