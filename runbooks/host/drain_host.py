"""Empty a host for a purpose, without a cut, and leave it cordoned for that purpose."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from runbooks.engine.model import Outcome, step
from runbooks.host._purpose import OutForPurpose, host, is_out, reason
from runbooks.lib import clients, drain
from runbooks.lib.diagnosis import given

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class DrainHost(OutForPurpose):
    """Empty a host for a purpose, without a cut, and leave it cordoned; host/return_host ends that.

    Asked again for a host that is out and empty, it changes nothing.
    """

    risk = "the pool has less room until the host is back"
    expect = timedelta(minutes=10)
    deadline = timedelta(minutes=40)

    def refusals(self, ctx: Context) -> Iterator[str]:
        """Every pod of the host must have a place elsewhere."""
        yield from super().refusals(ctx)
        yield from drain.refusals(ctx, given(ctx).host)

    @step("keep new pods off it", undo="let_them_come")
    def cordon(self, ctx: Context) -> Outcome:
        """Cordon it for the purpose."""
        name, was_out = given(ctx).host, is_out(ctx)
        ctx.record(was_out=was_out)
        clients.of(ctx).kube.hosts.cordon(name, reason(ctx))
        return Outcome.ok(f"host {name} takes no new pods, for {reason(ctx)}", changed=not was_out)

    def let_them_come(self, ctx: Context) -> Outcome:
        """Take the purpose away again, unless it was there before."""
        if ctx.facts.get("cordon", {}).get("was_out", True):
            return Outcome.ok(f"host {given(ctx).host} was out before")
        clients.of(ctx).kube.hosts.uncordon(given(ctx).host, reason(ctx))
        return Outcome.ok(f"host {given(ctx).host} is no longer out for {reason(ctx)}")

    @step("move its pods", undo="give_host_back", timeout=timedelta(minutes=35))
    def empty(self, ctx: Context) -> Outcome:
        """Raise replacements, let its pods end; the purpose alone keeps the cordon then."""
        kube, name = clients.of(ctx).kube, given(ctx).host
        leaving = drain.movable(kube.pods.list(host=name))
        if not leaving:
            return Outcome.ok(f"host {name} is empty", changed=False)
        done = drain.drain(ctx, name, timeout=timedelta(minutes=34))
        if kube.hosts.own_reason in host(ctx).cordoned_by:
            kube.hosts.uncordon(name, kube.hosts.own_reason)
        return Outcome(done.verdict, done.said, {**done.facts, "changed": True})

    def give_host_back(self, ctx: Context) -> Outcome:
        """Put replica counts back as they were."""
        return drain.undo(ctx, "empty")
