"""Run a runbook, resume a run, undo a run: what the command line and drills call."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from pydantic import ValidationError

from infra.errors import ConfigError
from runbooks.engine.attempt import Attempt
from runbooks.engine.context import Order
from runbooks.engine.history import find
from runbooks.engine.journal import read
from runbooks.engine.model import Inputs, Runbook
from runbooks.engine.plain import MASK
from runbooks.engine.plan import check
from runbooks.engine.result import Exit, Result, worst
from runbooks.engine.site import LOOK_ONLY, Consent, Site
from runbooks.engine.source import digest
from runbooks.engine.state import Past
from runbooks.engine.stop import Stop

__all__ = ["LOOK_ONLY", "Consent", "Exit", "Result", "Site", "execute", "resume", "undo", "worst"]

Load = Callable[[str], type[Runbook]]
"""Finds a runbook by its command."""


def execute(
    runbook: type[Runbook],
    inputs: Inputs,
    *,
    stack: str,
    site: Site,
    consent: Consent = LOOK_ONLY,
    stop: Stop | None = None,
) -> Result:
    """Run a runbook from its first step; without consent it only looks.

    Args:
        stop: what hears signals over several runs; None: this run hears its own.
    Raises:
        ConfigError: the runbook is wrong in itself.
        OSError: the run cannot be recorded; nothing was touched.
    """
    check(runbook)
    run_id = _new_id(runbook)
    order = Order(
        run_id, stack, inputs, not consent.yes, site.actor, consent.reason, consent.ticket, site.runs / run_id
    )
    with _attempt(runbook, order, site, consent, stop) as attempt:
        return attempt.first()


def resume(run: str, *, load: Load, site: Site, consent: Consent = LOOK_ONLY, stop: Stop | None = None) -> Result:
    """Go on with a run whose process died: finished steps are skipped; an undo that had begun is finished.

    Raises:
        ConfigError: there is no such run, it needs no resuming, or its runbook is no longer the same.
    """
    order, runbook, past = _recall(run, load, site)
    if past.exit is not None:
        raise ConfigError(
            f"run {order.run_id} — has ended with exit {past.exit} — only what broke off is resumed — run it anew"
        )
    if not past.plan:
        raise ConfigError(
            f"run {order.run_id} — broke off before its first step — nothing is to be resumed — run it anew"
        )
    if past.undo_began:
        return undo(run, load=load, site=site, consent=consent, stop=stop)
    if digest(runbook) != past.header["digest"]:
        raise ConfigError(
            f"run {order.run_id} — {runbook.command()} has changed since it began — a run keeps its steps — "
            f"`runbook undo {order.run_id}`, or go back to revision {past.header['revision'] or 'it began with'}"
        )
    if MASK in past.header["inputs"].values():
        raise ConfigError(f"run {order.run_id} — took a secret, which no journal holds — undo it and run it anew")
    with _attempt(runbook, order, site, consent, stop) as attempt:
        return attempt.again(takes_back=False)


def undo(run: str, *, load: Load, site: Site, consent: Consent = LOOK_ONLY, stop: Stop | None = None) -> Result:
    """Take back what a run has started and not taken back; done twice, the second finds nothing to do.

    Raises:
        ConfigError: there is no such run, or its process is still at it.
    """
    order, runbook, past = _recall(run, load, site)
    if digest(runbook) != past.header["digest"]:
        site.screen.line(
            "warn", f"{runbook.command()} has changed since run {order.run_id} began; its undo of today is used"
        )
    with _attempt(runbook, order, site, consent, stop) as attempt:
        return attempt.again(takes_back=True)


@contextmanager
def _attempt(
    runbook: type[Runbook], order: Order, site: Site, consent: Consent, stop: Stop | None
) -> Iterator[Attempt]:
    """Hear signals, hold the journal, and let go of both."""
    if stop is None:
        with Stop() as own, _attempt(runbook, order, site, consent, own) as attempt:
            yield attempt
        return
    attempt = Attempt(runbook, order, site, consent, stop)
    try:
        yield attempt
    finally:
        attempt.close()


def _recall(run: str, load: Load, site: Site) -> tuple[Order, type[Runbook], Past]:
    """Read what a run was, with its inputs and targets as they were then."""
    folder = find(site.runs, run)
    past = read(folder)
    told = past.header
    if not told:
        raise ConfigError(f"run {folder.name} — broke off before anything was recorded — nothing was touched")
    if not told["acts"]:
        raise ConfigError(f"run {folder.name} — wrote nothing, as it only looked — nothing is to be taken up again")
    runbook = load(told["runbook"])
    try:
        inputs = runbook.Inputs.model_validate(told["inputs"])
    except ValidationError as error:
        raise ConfigError(
            f"run {folder.name} — its inputs {told['inputs']} are no longer those of {told['runbook']} — "
            f"go back to revision {told['revision'] or 'it began with'}"
        ) from error
    return (
        Order(
            folder.name,
            told["stack"],
            inputs,
            dry=False,
            actor=site.actor,
            reason=told["reason"],
            ticket=told["ticket"],
            folder=folder,
        ),
        runbook,
        past,
    )


def _new_id(runbook: type[Runbook]) -> str:
    """Make an id that sorts by time and tells what ran."""
    name = runbook.command().rpartition("/")[2].replace("_", "-")
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}"[:19] + f"-{name}-{uuid.uuid4().hex[:6]}"
