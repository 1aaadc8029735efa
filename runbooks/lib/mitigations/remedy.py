"""What all mitigations share: only what fits the findings and what the plan allows is offered and done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from runbooks.engine.model import Outcome, Runbook
from runbooks.lib.diagnosis.finding import given, wanted

if TYPE_CHECKING:
    from runbooks.engine.context import Context


class Remedy(Runbook):
    """Base of the mitigations: each brings one value of ``do``, its step, and its reasons against it."""

    def against(self, ctx: Context, do: str) -> Iterator[str]:
        """Reasons for which the plan or the cluster does not allow this value of ``do``, all of them."""
        yield from ()

    def refusals(self, ctx: Context) -> Iterator[str]:
        """Refuse what the plan does not allow, before anything is asked."""
        yield from super().refusals(ctx)
        do = getattr(ctx.inputs, "do", "nothing")
        if do != "nothing":
            yield from self.against(ctx, do)

    def offers(self, ctx: Context) -> Iterable[str]:
        """What fits the findings and what nothing speaks against."""
        fits = wanted(ctx)
        return [do for do in type(self).choices() if do in fits and not any(True for _ in self.against(ctx, do))]

    def workload(self, ctx: Context) -> tuple[str, str] | None:
        """Namespace and name of the Deployment that it is about; None where there is none."""
        return None

    def fit(self, ctx: Context, do: str) -> Outcome:
        """Go on if ``do`` fits what was found, stop if not; for a step that reads, before the one that writes."""
        fits = wanted(ctx)
        if do in fits:
            return Outcome.ok(f"{do} fits what was found")
        instead = ", ".join(sorted(fits & set(type(self).choices()))) or "nothing"
        return Outcome.stop(f"{do} does not help against what was found; what does: {instead}")


def chosen(ctx: Context, name: str) -> str:
    """A text among the inputs; empty when the runbook has no such input."""
    return str(getattr(given(ctx), name, "") or "")
