"""Move everything off a host and leave it cordoned."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from runbooks.engine.model import Outcome, step
from runbooks.lib import drain
from runbooks.lib.mitigations.remedy import Remedy, chosen

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class DrainHost(Remedy):
    """``do=drain_host``: replicas move elsewhere without a cut, and the host stays cordoned."""

    def host(self, ctx: Context) -> str:
        """Name of the host; the input ``host`` unless a runbook knows better."""
        return chosen(ctx, "host")

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """Every pod of the host must have a place elsewhere."""
        yield from super().against(ctx, do)
        if do != "drain_host":
            return
        host = self.host(ctx)
        if not host:
            yield "drain_host — it is not told which — name the host"
            return
        yield from drain.refusals(ctx, host)

    @step("see that a drain helps", writes=False, only="drain_host")
    def drain_host_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if nothing calls for it."""
        return self.fit(ctx, "drain_host")

    @step("drain the host", only="drain_host", undo="give_host_back", timeout=timedelta(minutes=20))
    def drain_host(self, ctx: Context) -> Outcome:
        """Cordon it, raise replacements, let its pods end."""
        return drain.drain(ctx, self.host(ctx), timeout=timedelta(minutes=18))

    def give_host_back(self, ctx: Context) -> Outcome:
        """Uncordon the host and put replica counts back."""
        return drain.undo(ctx, "drain_host")
