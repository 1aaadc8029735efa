"""Begin afresh: one pod that is beyond help, or all pods of a Deployment in turn."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from infra.errors import ConfigError
from runbooks.engine.model import Outcome, Verdict, step
from runbooks.lib import clients
from runbooks.lib.diagnosis.finding import findings
from runbooks.lib.mitigations.remedy import Remedy, chosen

if TYPE_CHECKING:
    from runbooks.engine.context import Context

LAST_WORDS_SECONDS = 2
"""Grace of a pod that answers nothing any more: its drain would wait for ever (s)."""


class Restart(Remedy):
    """``do=restart``: replace all pods of the Deployment, as its strategy has it."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """There must be a Deployment."""
        yield from super().against(ctx, do)
        if do == "restart" and self.workload(ctx) is None:
            yield "restart — it is not told of what — name the model"

    @step("see that a restart helps", writes=False, only="restart")
    def restart_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if nothing calls for it."""
        return self.fit(ctx, "restart")

    # Nothing to undo: the new pods are made of the same template as the old ones.
    @step("replace all pods, one after the other", only="restart", timeout=timedelta(minutes=20))
    def restart(self, ctx: Context) -> Outcome:
        """Mark the template and wait until the Deployment has settled."""
        about = self.workload(ctx) or ("", "")
        deployments = clients.of(ctx).kube.deployments
        ctx.record(restarted=list(about))
        deployments.restart(*about)
        deployments.until_settled(*about, timeout=timedelta(minutes=18))
        return Outcome.ok(f"deployment {'/'.join(about)} runs on new pods")


class ReplacePod(Remedy):
    """``do=replace_pod``: delete the pod that is at fault, so that its controller makes another."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """A pod without a controller would not come back."""
        yield from super().against(ctx, do)
        about, name = self.workload(ctx), chosen(ctx, "pod")
        if do != "replace_pod" or not (about and name):
            return
        pod = clients.of(ctx).kube.pods.find(about[0], name)
        if pod is not None and not pod.owner:
            yield f"pod {pod} — has no controller that would bring it back — move it by hand"

    @step("see which pod is at fault", writes=False, only="replace_pod")
    def replace_pod_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if no pod is at fault, or if it is not told which of several."""
        fits = self.fit(ctx, "replace_pod")
        if fits.verdict is not Verdict.OK:
            return fits
        return Outcome.ok(f"pod {chosen(ctx, 'pod') or _only(ctx)} is at fault")

    # Nothing to undo: its controller has made an equal pod, and the old one cannot be had again.
    @step("replace the pod at fault", only="replace_pod", timeout=timedelta(minutes=20))
    def replace_pod(self, ctx: Context) -> Outcome:
        """Delete it and wait until the Deployment has all its replicas again."""
        kube, about = clients.of(ctx).kube, self.workload(ctx) or ("", "")
        name = chosen(ctx, "pod") or _only(ctx)
        pod = kube.pods.find(about[0], name)
        if pod is None:
            return Outcome.stop(f"pod {about[0]}/{name} — is gone — see: kubectl get pods -n {about[0]}")
        dead = any(one.fault in ("hung", "silent") and one.about == name for one in findings(ctx))
        ctx.record(deleted={"pod": str(pod), "uid": pod.uid})
        kube.pods.delete(pod.namespace, pod.name, grace=LAST_WORDS_SECONDS if dead else None)
        kube.pods.until_gone(pod.namespace, pod.name, pod.uid, timeout=timedelta(minutes=10))
        kube.deployments.until_settled(*about, timeout=timedelta(minutes=18))
        return Outcome.ok(f"pod {pod} is replaced, and deployment {'/'.join(about)} is whole")


def _only(ctx: Context) -> str:
    """The one pod that was found at fault.

    Raises:
        ConfigError: there are several, so that one must be named.
    """
    names = sorted({one.about for one in findings(ctx) if "replace_pod" in one.offers})
    if len(names) != 1:
        raise ConfigError(f"replace_pod — {len(names)} pods are at fault: {', '.join(names)} — name one with --pod")
    return names[0]
