"""Before anything is touched: resolve targets, and collect every reason not to begin."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from infra.errors import ConfigError, Unknown
from runbooks.engine.context import Context
from runbooks.engine.model import Runbook, Target
from runbooks.engine.stop import Halted
from runbooks.engine.watch import Limits, Watch

PLAN_S = 120.0
"""Seconds within which targets and refusals must be known."""


@dataclass
class Asked:
    """What a runbook said before its first step."""

    targets: tuple[Target, ...] = ()
    reasons: list[str] = field(default_factory=list)
    """Not to begin."""
    unknown: list[str] = field(default_factory=list)
    """What could not be told; no reason to begin either."""
    trace: str = ""
    """Of a surprise."""

    def stopped(self, halted: Halted) -> None:
        """Note, once, that the run was told to stop before it began."""
        if (said := f"stopped by {halted} before its first step") not in self.reasons:
            self.reasons.append(said)

    def collect(self, ask: Callable[[], Iterable[str]], *, after_failure: bool = False) -> None:
        """Add what a question yields, and what it raises.

        Args:
            after_failure: an earlier answer is missing, so a surprise here says nothing new.
        """
        try:
            for reason in ask():
                self.reasons.append(reason)
        except ConfigError as error:
            self.reasons += error.problems
        except Unknown as error:
            self.unknown.append(str(error))
        except Halted as halted:
            self.stopped(halted)
        except Exception as error:
            if not after_failure:
                self.reasons.append(f"could not be planned — {type(error).__name__}: {error}")
                self.trace = traceback.format_exc()


def ask(book: Runbook, context: Context, watch: Watch) -> Asked:
    """Ask a runbook for its targets and for its own refusals; it cannot write meanwhile."""
    asked = Asked()

    def call() -> None:
        asked.collect(partial(_resolve, book, context))
        failed = bool(asked.reasons or asked.unknown)
        asked.collect(partial(book.refusals, context), after_failure=failed)

    try:
        watch.run("plan", call, Limits(PLAN_S), context.halt)
    except Halted as halted:
        asked.stopped(halted)
    context.close()
    asked.targets = context.targets
    return asked


def _resolve(book: Runbook, context: Context) -> Iterable[str]:
    context.targets = tuple(book.targets(context))
    return ()
