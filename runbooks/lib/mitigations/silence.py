"""Silence the alerts of a known fault, with an end, while somebody works on it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pydantic import Field

from runbooks.engine.model import Outcome, Runbook, step
from runbooks.lib import clients
from runbooks.lib.diagnosis.background import BACKGROUND
from runbooks.lib.diagnosis.finding import findings, given
from runbooks.lib.diagnosis.measures import firing
from runbooks.lib.mitigations.remedy import Remedy

if TYPE_CHECKING:
    from runbooks.engine.context import Context

IDENTITY = ("model", "tenant", "pod", "host", "pool", "leaf", "gpu", "device", "job", "instance", "setting", "slo")
"""Inputs that pick the alerts to silence, where they are given."""


class SilenceInputs(Runbook.Inputs):
    """How long a silence lasts."""

    lasts: timedelta = Field(default=timedelta(hours=1), description="how long a silence lasts, at most 24h")


class Silence(Remedy):
    """``do=silence``: no notice of the alerts that this runbook answers and that fire now, until ``lasts`` is over."""

    def offers(self, ctx: Context) -> list[str]:
        """Offer it for whatever was found: a fault that is known need not ring again."""
        found = list(super().offers(ctx))
        can = "silence" in type(self).choices() and any(one.fault not in BACKGROUND for one in findings(ctx))
        return [*found, "silence"] if can and "silence" not in found else found

    @step("see what fires", writes=False, only="silence")
    def firing(self, ctx: Context) -> Outcome:
        """Find the alerts of this runbook that fire with the labels among the inputs; none: stop."""
        labels = {name: str(value) for name in IDENTITY if (value := getattr(given(ctx), name, ""))}
        names = sorted({alert.name for alert in firing(ctx, self.answers, **labels)})
        if not names:
            return Outcome.stop(f"none of {', '.join(self.answers)} fires for {labels or 'anything'}")
        return Outcome.ok(f"{', '.join(names)} fires with {labels}", names=names, labels=labels)

    @step("silence what fires", only="silence", undo="end_silence")
    def silence(self, ctx: Context) -> Outcome:
        """Silence each alert by its name and the labels of the inputs."""
        names, labels, lasts = ctx.facts["firing"]["names"], ctx.facts["firing"]["labels"], given(ctx).lasts
        comment = ctx.reason or f"{self.command()}: {'; '.join(str(one) for one in findings(ctx))[:200]}"
        ctx.record(silenced=names)
        for name in names:
            clients.of(ctx).alertmanager.silence({"alertname": name, **labels}, lasts=lasts, comment=comment)
        return Outcome.ok(f"{', '.join(names)} with {labels} silent for {lasts}")

    def end_silence(self, ctx: Context) -> Outcome:
        """End the silences of this run."""
        if not ctx.facts.get("silence", {}).get("silenced"):
            return Outcome.ok("nothing was silenced")
        alertmanager = clients.of(ctx).alertmanager
        ended = [one.id for one in alertmanager.own()]
        for silence_id in ended:
            alertmanager.expire(silence_id)
        return Outcome.ok(f"{len(ended)} silences ended")
