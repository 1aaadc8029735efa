"""One replica more, as far as the pool has room."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from infra.plan.manifests.model import NAMESPACE
from runbooks.engine.model import Outcome, Verdict, step
from runbooks.lib import clients, scaling
from runbooks.lib.mitigations.remedy import Remedy, chosen

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class ScaleUp(Remedy):
    """``do=scale_up``: one replica more of the model, within its pool."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """The pool must have room."""
        yield from super().against(ctx, do)
        model = chosen(ctx, "model")
        if do != "scale_up":
            return
        if not model:
            yield "scale_up — it is not told of what — name the model"
            return
        yield from scaling.refusals(ctx, model, scaling.room(ctx, model).live + 1)

    @step("see that a replica more helps", writes=False, only="scale_up")
    def scale_up_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if nothing calls for it."""
        return self.fit(ctx, "scale_up")

    @step("add a replica", only="scale_up", undo="scale_back", timeout=timedelta(minutes=20))
    def scale_up(self, ctx: Context) -> Outcome:
        """Ask for one more and wait until it serves; the stack file still has the old number."""
        model = chosen(ctx, "model")
        done = scaling.scale(ctx, model, scaling.room(ctx, model).live + 1)
        if done.verdict is not Verdict.OK:
            return done
        clients.of(ctx).kube.deployments.until_settled(NAMESPACE, model, timeout=timedelta(minutes=18))
        return Outcome.ok(f"{done.said}; set models.{model}.replicas before the next `pulumi up`", **done.facts)

    def scale_back(self, ctx: Context) -> Outcome:
        """Take the added replica away."""
        return scaling.undo(ctx, "scale_up")
