"""Refuse a share of one tier's requests at the gateway, so that the others are served."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from infra.errors import CheckError, Unknown
from infra.plan.envoy.shed import runtime_key
from infra.plan.manifests import gateway as manifests
from runbooks.engine.model import Outcome, step
from runbooks.lib import clients
from runbooks.lib.diagnosis.finding import given
from runbooks.lib.mitigations.remedy import Remedy, chosen
from runbooks.lib.writing import Result

if TYPE_CHECKING:
    from runbooks.engine.context import Context

# bash alone, because the image has neither curl nor python; the administration listens inside the pod only.
_ADMIN = r"""
exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 7
printf '%s %s HTTP/1.1\r\nHost: admin\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' "$2" "$3" >&3
cat <&3
"""

ORDER = ("batch", "standard", "premium")
"""Tiers by who waits longest without harm. Source: infra/config/keys.py has these three."""


class ShedTier(Remedy):
    """``do=shed_tier``: answer a share of one tier with 429 and Retry-After; a gateway pod that restarts forgets it."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """There must be such a tier, another tier to serve instead, and a gateway that knows the switch."""
        yield from super().against(ctx, do)
        if do != "shed_tier":
            return
        known = tiers(ctx)
        tier = self.shed_which(ctx)
        if len(known) < 2:
            yield f"shed_tier — this stack has one tier, {', '.join(known)} — shedding it would refuse everyone"
        if tier not in known:
            yield f"tier {tier!r} — no key of this stack has it — name one of {', '.join(known)} with --tier"

    def shed_which(self, ctx: Context) -> str:
        """The tier: the input ``tier``, else the one that is worth least."""
        return chosen(ctx, "tier") or least(tiers(ctx))

    @step("see that shedding helps", writes=False, only="shed_tier")
    def shed_tier_fits(self, ctx: Context) -> Outcome:
        """Stop before the write if nothing calls for it, or if a gateway pod does not answer."""
        for pod in clients.of(ctx).kube.pods.of_gateway():
            read(ctx, pod.name, self.shed_which(ctx))
        return self.fit(ctx, "shed_tier")

    @step("shed a tier at the gateway", only="shed_tier", undo="serve_tier", timeout=timedelta(minutes=2))
    def shed_tier(self, ctx: Context) -> Outcome:
        """Set the share on every gateway pod, and read it back."""
        tier, percent = self.shed_which(ctx), int(getattr(given(ctx), "percent", 100))
        pods = [pod.name for pod in clients.of(ctx).kube.pods.of_gateway()]
        before = {name: read(ctx, name, tier) for name in pods}
        ctx.record(shed={"tier": tier, "before": before})
        for name in pods:
            write(ctx, name, tier, percent)
        said = f"{percent} % of the requests of tier {tier!r} are refused with 429 by {len(pods)} gateway pods"
        return Outcome.ok(f"{said}; to end it: runbook undo {ctx.run_id}, or restart the gateway")

    def serve_tier(self, ctx: Context) -> Outcome:
        """Serve the tier as before."""
        facts = ctx.facts.get("shed_tier", {}).get("shed")
        if not facts:
            return Outcome.ok("nothing was shed")
        live = {pod.name for pod in clients.of(ctx).kube.pods.of_gateway()}
        for name, percent in facts["before"].items():
            if name in live:
                write(ctx, name, facts["tier"], int(percent))
        return Outcome.ok(f"tier {facts['tier']!r} is served as before")


def tiers(ctx: Context) -> list[str]:
    """Tiers of this stack's keys."""
    return sorted({key.tier for key in clients.of(ctx).plan.gateway.keys.values()})


def least(known: Sequence[str]) -> str:
    """The tier that is shed first: work that nobody waits for, then what is paid least for."""
    return next((tier for tier in ORDER if tier in known), "")


def read(ctx: Context, pod: str, tier: str) -> int:
    """How much of a tier a gateway pod sheds now (per cent).

    Raises:
        Unknown: its administration does not answer.
    """
    argv = ["bash", "-c", _ADMIN.strip(), "admin", str(manifests.ADMIN_PORT), "GET", "/runtime"]
    found = clients.of(ctx).kube.pods.ask(manifests.NAMESPACE, pod, argv)
    _answered(pod, found)
    key = re.escape(runtime_key(tier))
    match = re.search(rf'"{key}"\s*:\s*\{{.*?"final_value"\s*:\s*"(\d+)"', found.stdout, re.DOTALL)
    return int(match[1]) if match else 0


def write(ctx: Context, pod: str, tier: str, percent: int) -> None:
    """Make a gateway pod shed this much of a tier, and read it back."""
    path = f"/runtime_modify?{runtime_key(tier)}={percent}"
    argv = ["bash", "-c", _ADMIN.strip(), "admin", str(manifests.ADMIN_PORT), "POST", path]
    found = clients.of(ctx).kube.pods.exec(manifests.NAMESPACE, pod, argv)
    if not ctx.may_write:
        return
    _answered(pod, found)
    seen = read(ctx, pod, tier)
    if seen != percent:
        raise CheckError(
            f"gateway pod {pod} — was told to shed {percent} % of tier {tier!r} and sheds {seen} % — "
            "see that its config is of this version: `pulumi up`"
        )


def _answered(pod: str, found: Result) -> None:
    if not found.is_ok or " 200 " not in found.stdout.partition("\r\n")[0]:
        head = found.stdout.partition("\r\n")[0]
        raise Unknown(f"gateway pod {pod} — Envoy's administration does not answer: {found.stderr or head!r}")
