"""Keep a host out that did not prove itself, and write the reason on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from runbooks.engine.model import Outcome, step
from runbooks.host._purpose import WHY, OutForPurpose, OutInputs, host, reason
from runbooks.lib import clients
from runbooks.lib.diagnosis import given

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class HoldHost(OutForPurpose):
    """Keep a host cordoned that did not prove itself, and write the reason on it; host/return_host ends that."""

    risk = "the pool has less room until the host is back"

    class Inputs(OutInputs):
        """Which host, what it is out for, and what is wrong with it."""

        because: str = Field(min_length=1, max_length=2_000, description="what is wrong with it, for people")

    @step("keep it out, and say why", undo="forget")
    def hold(self, ctx: Context) -> Outcome:
        """Cordon it for the purpose, and annotate it."""
        hosts, name = clients.of(ctx).kube.hosts, given(ctx).host
        ctx.record(before=host(ctx).annotations.get(WHY))
        hosts.cordon(name, reason(ctx))
        hosts.annotate(name, {WHY: given(ctx).because})
        return Outcome.ok(f"host {name} stays cordoned for {reason(ctx)}: {given(ctx).because}")

    def forget(self, ctx: Context) -> Outcome:
        """Say again what it said before; the cordon stays, for nobody has proved the host."""
        clients.of(ctx).kube.hosts.annotate(given(ctx).host, {WHY: ctx.facts.get("hold", {}).get("before")})
        return Outcome.ok(f"host {given(ctx).host} says what it said before, and stays cordoned")
