"""Let a host that was out for a purpose take pods again, once it has proved itself under load."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from infra.errors import CheckError
from runbooks.engine.model import Outcome, step
from runbooks.host._purpose import WHY, OutForPurpose, host, is_out, reason
from runbooks.lib import clients
from runbooks.lib.diagnosis import fitness, given
from runbooks.lib.mitigations.cordon import load_host

if TYPE_CHECKING:
    from runbooks.engine.context import Context

PATIENCE = timedelta(minutes=10)
"""How long a host may take from its boot until kubelet, GPUs and NICs report. Source: our choice."""


class ReturnHost(OutForPurpose):
    """Let a host take pods again that was out for a purpose, once it is well and has stood a load.

    Another's cordon stays. A host that is not out for this purpose is left as it is.
    """

    risk = "pods come to the host"
    expect = timedelta(minutes=5)
    deadline = timedelta(minutes=40)

    def refusals(self, ctx: Context) -> Iterator[str]:
        """A host that somebody uncordoned by hand is not ours to judge."""
        yield from super().refusals(ctx)
        found = host(ctx)
        if reason(ctx) in found.cordoned_by and not found.cordoned:
            yield f"host {found.name} — was uncordoned by hand while out for {reason(ctx)} — drain it first, or let be"

    @step("it is ready, with all it should have", writes=False, timeout=PATIENCE + timedelta(minutes=1))
    def well(self, ctx: Context) -> Outcome:
        """Wait for kubelet, GPUs and NICs: a host that has just booted reports them one by one."""
        name = given(ctx).host
        if not is_out(ctx):
            return Outcome.ok(f"host {name} is not out for {reason(ctx)}")
        left: list[str] = []

        def fit() -> bool:
            left[:] = fitness.unfit(ctx, host(ctx))
            return not left

        try:
            ctx.until(fit, timeout=PATIENCE, every=5.0, what=f"host {name} is well")
        except CheckError:
            return Outcome.fail("; ".join(left))
        return Outcome.stop("; ".join(left)) if left else Outcome.ok(f"host {name} is well")

    # Nothing to undo: the load ends by itself.
    @step("load it", timeout=timedelta(minutes=20))
    def load(self, ctx: Context) -> Outcome:
        """Prove it under load, as an idle host looks well; simulated hosts have nothing to load."""
        found = host(ctx)
        if found.simulated or not is_out(ctx):
            return Outcome.ok(f"host {found.name} has nothing to prove")
        load_host(ctx, found)
        if reasons := list(fitness.unfit(ctx, host(ctx))):
            return Outcome.fail("; ".join(reasons))
        return Outcome.ok(f"host {found.name} stood its load")

    @step("let pods come again", undo="keep_out")
    def give_back(self, ctx: Context) -> Outcome:
        """Take the purpose, and what was said of it, away."""
        hosts, name = clients.of(ctx).kube.hosts, given(ctx).host
        if reason(ctx) not in host(ctx).cordoned_by:
            return Outcome.ok(f"host {name} is not out for {reason(ctx)}", changed=False)
        ctx.record(was_out=True, why=host(ctx).annotations.get(WHY))
        hosts.uncordon(name, reason(ctx))
        hosts.annotate(name, {WHY: None})
        return Outcome.ok(f"host {name} is no longer out for {reason(ctx)}", changed=True)

    def keep_out(self, ctx: Context) -> Outcome:
        """Cordon it for the same purpose."""
        facts, name = ctx.facts.get("give_back", {}), given(ctx).host
        if not facts.get("was_out"):
            return Outcome.ok(f"host {name} was not let go")
        clients.of(ctx).kube.hosts.cordon(name, reason(ctx))
        clients.of(ctx).kube.hosts.annotate(name, {WHY: facts["why"]})
        return Outcome.ok(f"host {name} is out for {reason(ctx)} again")
