"""Ask the runbook of an alert, as somebody on call would, and see whether it names the fault."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runbooks.engine.discover import load
from runbooks.engine.model import Outcome
from runbooks.engine.result import Exit
from runbooks.engine.run import Site, execute
from runbooks.lib import clients
from runbooks.lib.drill.claims import Expects

if TYPE_CHECKING:
    from runbooks.engine.context import Context


def ask(ctx: Context, expects: Expects, labels: Mapping[str, str]) -> Outcome:
    """Run the runbook dry, with what the alert's labels tell it.

    A diagnosis that is refused, stops or ends in "cannot tell" is no answer, whatever it has said till then.
    """
    book = load(expects.runbook)
    fields = book.Inputs.model_fields
    given: dict[str, Any] = {name: value for name, value in labels.items() if name in fields}
    inputs = book.Inputs(**{**given, **expects.inputs})
    site = Site(runs=ctx.folder / "answer", connect=clients.connect)
    result = execute(book, inputs, stack=ctx.stack, site=site)
    said = [f"{item.title}: {item.said}" for item in result.steps]
    if result.exit is not Exit.DONE:
        return Outcome.fail(f"{expects.runbook} ended with {result.exit.name}: {result.said}", diagnosis=said)
    pattern = expects.pattern(ctx.targets[0].name)
    line = next((line for line in said if re.search(pattern, line, re.IGNORECASE)), None)
    if line is None:
        return Outcome.fail(
            f"{expects.runbook} does not name the fault: nothing in it matches {pattern!r}", diagnosis=said
        )
    return Outcome.ok(line, diagnosis=said, offers=[offer.command for offer in result.offers])
