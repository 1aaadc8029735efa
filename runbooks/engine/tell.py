"""What ``runbook list``, ``show`` and ``history`` print."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.units import duration
from runbooks.engine.screen import Screen

if TYPE_CHECKING:
    from runbooks.engine.discover import Listed
    from runbooks.engine.history import Entry
    from runbooks.engine.model import Runbook


def as_json(value: Any) -> str:
    """Write the machine form of anything the engine tells."""
    from runbooks.engine.plain import plain

    return json.dumps(plain(value), indent=2, ensure_ascii=False)


def tell_list(found: list[Listed], screen: Screen) -> None:
    """Print runbooks: command, title, alerts."""
    rows = [(one.command, one.title.rstrip("."), " ".join(one.answers)) for one in found]
    screen.table(("runbook", "does", "answers"), rows)
    if not rows:
        screen.line("note", "no runbook fits")


def tell_show(runbook: type[Runbook], screen: Screen) -> None:
    """Print one runbook: its plan, inputs, alerts, and all that its docstring says."""
    from runbooks.engine.options import describe
    from runbooks.engine.plan import draw, show

    show(draw(runbook, "", None, (), acts=False), screen)
    if runbook.answers:
        screen.line("note", f"  answers  {', '.join(runbook.answers)}")
    screen.line("note", f"  owner    {runbook.owner}")
    screen.table(("option", "allowed", "default", "meaning"), describe(runbook.Inputs))
    rest = (inspect.getdoc(runbook) or "").partition("\n")[2].strip()
    if rest:
        screen.line("note", rest)


def show_as_json(runbook: type[Runbook]) -> dict[str, Any]:
    """Give the machine form of one runbook."""
    from runbooks.engine.options import describe
    from runbooks.engine.plain import plain
    from runbooks.engine.plan import draw

    options = [
        dict(zip(("option", "allowed", "default", "meaning"), row, strict=True)) for row in describe(runbook.Inputs)
    ]
    plan: dict[str, Any] = plain(draw(runbook, "", None, (), acts=False))
    return {**plan, "answers": list(runbook.answers), "owner": runbook.owner, "inputs": options}


def tell_history(found: Iterable[Entry], screen: Screen) -> None:
    """Print runs, newest first, and how to clean up after those that broke off."""
    entries = list(found)
    columns = ("run", "runbook", "stack", "mode", "state", "took", "by", "reason")
    screen.table(columns, [_row(one) for one in entries])
    for one in entries:
        if one.state in ("broken off", "undo failed") and one.left:
            screen.line("warn", f"{one.run_id} left {', '.join(one.left)}; `runbook undo {one.run_id}`")
    if not entries:
        screen.line("note", "nothing has run yet")


def tell_run(folder: Path, screen: Screen) -> None:
    """Print every line of one run's journal."""
    from runbooks.engine import journal

    for entry in journal.entries(folder):
        told = {key: value for key, value in entry.items() if key not in ("at", "event", "step", "trace")}
        words = " ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in told.items())
        screen.line("note", f"{entry['at']} {entry['event']} {entry.get('step', '')} {words}".replace("  ", " "))
        if "trace" in entry:
            screen.line("note", entry["trace"].rstrip())


def _row(one: Entry) -> tuple[str, ...]:
    took = ""
    if one.ended:
        span = datetime.fromisoformat(one.ended) - datetime.fromisoformat(one.began)
        took = duration(span.total_seconds())
    why = " ".join(filter(None, (one.ticket, one.reason)))
    return one.run_id, one.runbook, one.stack, one.mode, one.state, took, one.actor, why
