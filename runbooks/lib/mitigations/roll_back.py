"""Take the last change of a Deployment back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from runbooks.engine.model import Outcome, step
from runbooks.lib import clients, rollback
from runbooks.lib.mitigations.remedy import Remedy

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class RollBack(Remedy):
    """``do=roll_back``: put back the pod template of before the last change."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """There must be something that was before."""
        yield from super().against(ctx, do)
        if do != "roll_back":
            return
        about = self.workload(ctx)
        if about is None:
            yield "roll_back — it is not told of what — name the model"
        elif rollback.find(ctx, *about) is None:
            yield (
                f"deployment {'/'.join(about)} — nothing else was there before it, as far as is known — "
                "change the stack file and run `pulumi up`"
            )

    @step("see that a rollback helps", writes=False, only="roll_back")
    def roll_back_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if nothing calls for it."""
        return self.fit(ctx, "roll_back")

    @step("put the template of before the last change back", only="roll_back", undo="roll_forward",
          timeout=timedelta(minutes=20))  # fmt: skip
    def roll_back(self, ctx: Context) -> Outcome:
        """Write the earlier template and wait until the Deployment has settled."""
        about = self.workload(ctx) or ("", "")
        previous = rollback.find(ctx, *about)
        if previous is None:
            return Outcome.stop(f"deployment {'/'.join(about)} — nothing was before it")
        ctx.say(previous.said)
        done = rollback.roll_back(ctx, previous)
        clients.of(ctx).kube.deployments.until_settled(*about, timeout=timedelta(minutes=18))
        return done

    def roll_forward(self, ctx: Context) -> Outcome:
        """Put the newer template back."""
        return rollback.undo(ctx, "roll_back")
