"""Two questions of every diagnosis: which change came last, and what differs from the plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from textwrap import shorten
from typing import TYPE_CHECKING

from runbooks.engine.model import Outcome, Runbook, step
from runbooks.lib import changes, clients, drift
from runbooks.lib.diagnosis.finding import Finding, told

if TYPE_CHECKING:
    from runbooks.engine.context import Context

SUSPECT = timedelta(hours=1)
"""A change this young is taken for a cause until shown otherwise. Source: our choice; events live as long."""

SHOWN = 3
"""Changes or differences that are told (count)."""

LONGEST = 200
"""Longest sentence about one change or difference (characters)."""

BACKGROUND = ("change", "old change", "drift")
"""Kinds of findings that are no faults by themselves."""


class Background(Runbook):
    """Asks for the last change and for what is not as planned; ``workload`` names what it is about."""

    def workload(self, ctx: Context) -> tuple[str, str] | None:
        """Namespace and name of the Deployment that it is about; None: the stack as a whole."""
        return None

    @step("which change came last", writes=False)
    def which_change(self, ctx: Context) -> Outcome:
        """Look at stack updates, rollouts and writes of the Deployment."""
        about = self.workload(ctx)
        every = changes.recent(ctx, *about) if about else changes.updates(ctx)
        return told(_changes(every, datetime.now(UTC), "/".join(about or ())), "no change is known")

    @step("what differs from the plan", writes=False)
    def what_differs(self, ctx: Context) -> Outcome:
        """Compare the cluster with what the stack file comes down to."""
        found = clients.of(ctx)
        about = self.workload(ctx)
        every = [
            one
            for one in drift.differences(found.plan, found.kube)
            if about is None or (one.namespace, one.name) == about
        ]
        return told(_differences(every), "nothing differs from the plan")


def _changes(every: Sequence[changes.Change], now: datetime, about: str) -> list[Finding]:
    """Tell the newest changes; a young one of a Deployment may be taken back."""
    result = []
    for change in every[:SHOWN]:
        young = bool(about) and now - change.at <= SUSPECT
        said = shorten(f"{'recent ' if young else ''}change: {change}", LONGEST)
        result.append(Finding("change" if young else "old change", said, None, ("roll_back",) if young else (), about))
    return result


def _differences(every: Sequence[drift.Difference]) -> list[Finding]:
    more = f"and {len(every) - SHOWN} more" if len(every) > SHOWN else ""
    result = [
        Finding("drift", shorten(str(one), LONGEST), None, ("roll_back",) if one.kind == "Deployment" else (), one.name)
        for one in every[:SHOWN]
    ]
    return [*result, Finding("drift", more)] if more else result
