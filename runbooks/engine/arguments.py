"""Options of the engine's own commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runbooks.engine.words import Parser

OWN = {
    "list": "what can be run, and which alerts it answers",
    "show": "one runbook: inputs, steps, undo, risk",
    "run": "run one; dry unless --yes is given",
    "resume": "go on with a run whose process died",
    "undo": "take back what a run started",
    "abort": "stop a run that goes on elsewhere, and have it undone",
    "history": "what ran, who ran it, and how it ended",
}
"""Our own commands."""


def add_arguments(verbs: Mapping[str, Parser], words: list[str]) -> None:
    """Add the options of each command; those of a runbook's inputs if ``words`` run one."""
    for name in OWN:
        verbs[name].add_argument("--json", action="store_true", help="print the machine form, and only that, on stdout")
    verbs["list"].add_argument("--alert", default="", help="only those that answer this alert")
    verbs["show"].add_argument("runbook", metavar="RUNBOOK", help="such as serving/recover_engine")
    verbs["history"].add_argument("run", nargs="?", default="", metavar="RUN", help="show the journal of this run")
    verbs["history"].add_argument("--stack", default="", help="only runs on this stack")
    verbs["history"].add_argument("--limit", type=int, default=20, help="how many; 0 for all (default: 20)")
    for name in ("resume", "undo", "abort"):
        verbs[name].add_argument("runs", nargs="+", metavar="RUN", help="id of a run, or its beginning")
    _add_run(verbs["run"], words)
    for name in ("run", "resume", "undo"):
        _add_locking(verbs[name])


def _add_run(parser: Parser, words: list[str]) -> None:
    parser.add_argument("runbook", metavar="RUNBOOK", help="such as serving/recover_engine")
    parser.add_argument("--stack", default="", help="the stack to work on, such as lab")
    parser.add_argument("--yes", action="store_true", help="act; without it nothing is written")
    parser.add_argument(
        "--stack-name-again", default="", metavar="NAME", help="typed again to act on a protected stack"
    )
    parser.add_argument("--reason", default="", help="why, for the audit; protected stacks want one")
    parser.add_argument("--ticket", default="", help="which ticket, for the audit")
    if words[:1] != ["run"]:
        return
    from runbooks.engine.discover import commands, load
    from runbooks.engine.options import add_inputs

    named = [word for word in words[1:] if word in commands()] or [word for word in words[1:2] if word[0] != "-"]
    if named:
        add_inputs(parser, load(named[0]).Inputs)


def _add_locking(parser: Parser) -> None:
    parser.add_argument("--break-lock", action="store_true", help="take the lock from whoever holds it; audited")
    parser.add_argument("--local-lock", action="store_true", help="lock in this clone only, if the cluster is silent")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the result as JUnit XML")
