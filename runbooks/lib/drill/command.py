"""``runbook drill``: one drill, the short set or all of them, one after the other, and what they came to."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from infra.errors import ConfigError
from runbooks.engine.discover import commands, load

if TYPE_CHECKING:
    from runbooks.engine.result import Result
    from runbooks.engine.stop import Stop
    from runbooks.lib.drill.model import Drill

REST_SECONDS = 300.0
"""How long a drill of a series waits for what the one before it left behind (s): windows of alerts, restarts."""

PAUSE_SECONDS = 15.0
"""Pause between two attempts of that (s)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", nargs="*", help="drills, such as kill_engine_pod; all their inputs have defaults")
    parser.add_argument("--all", action="store_true", help="every drill that this stack can have")
    parser.add_argument("--short", action="store_true", help="the short set: a few minutes")
    parser.add_argument("--stack", default="", help="stack to hurt")
    parser.add_argument("--lab", action="store_true", help="the same as --stack lab")
    parser.add_argument("--yes", action="store_true", help="make the faults; without it only the plan is shown")
    parser.add_argument("--reason", default="", help="why, for the audit log")
    parser.add_argument("--ticket", default="", help="where it was agreed")
    parser.add_argument("--stack-name-again", default="", metavar="STACK", help="a protected stack's name once more")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write the results for a CI server")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep the last result of each drill here")


def run(args: argparse.Namespace) -> int:
    """Run the drills that were asked for; the worst outcome is the exit code.

    Raises:
        ConfigError: it is not clear which drills, or where; nothing was touched.
    """
    from runbooks.engine.junit import write_junit
    from runbooks.engine.result import Exit, worst
    from runbooks.engine.run import execute
    from runbooks.engine.site import Consent
    from runbooks.engine.stop import Stop

    stack = _stack(args)
    drills = [drill for drill in chosen(args) if not (args.all and _left_out(drill, stack, args))]
    consent = Consent(args.yes, args.reason or "drill", args.ticket, args.stack_name_again)
    results: list[Result] = []
    with Stop() as stop:
        for drill in drills:
            if stop.reason:
                break
            attempt = partial(execute, drill, drill.Inputs(), stack=stack, site=args.site, consent=consent, stop=stop)
            results.append(_rested(attempt, stop) if results and results[-1].exit != Exit.REFUSED else attempt())
            if args.results and args.yes:
                from runbooks.lib.drill import results as kept

                kept.keep(args.results, results[-1])
    if args.junit:
        write_junit(args.junit, results)
    if args.json:
        print(json.dumps([result.as_json() for result in results], indent=1))
    elif len(results) > 1:
        _tell(results)
    # Drills that a signal kept from beginning are drills that nobody can tell anything about.
    missing = len(drills) - len(results)
    return int(worst([*(result.exit for result in results), *([worst([])] * bool(missing))]))


def _rested(attempt: Callable[[], Result], stop: Stop) -> Result:
    """Try a drill again as long as it is refused for what the one before left behind, such as an alert that fades."""
    from runbooks.engine.result import Exit

    end = time.monotonic() + REST_SECONDS
    while (result := attempt()).exit == Exit.REFUSED and time.monotonic() < end and not stop.reason:
        print(f"{result.runbook}: tried again in {PAUSE_SECONDS:.0f} s, as the system is not at rest", file=sys.stderr)
        # A signal meanwhile waits in the queue of ``stop``, and ends the next attempt before it writes.
        time.sleep(PAUSE_SECONDS)
    return result


def _left_out(drill: type[Drill], stack: str, args: argparse.Namespace) -> bool:
    """Whether this stack cannot have the drill; it says so, on screen and among the results."""
    from runbooks.lib.stack import Stack

    if not drill.not_in_lab or Stack(stack).plan.target.name != "lab":
        return False
    print(f"{drill.command()}: left out: {drill.not_in_lab}", file=sys.stderr)
    if args.results and args.yes:
        from runbooks.lib.drill import results as kept

        kept.leave_out(args.results, drill.command(), drill.not_in_lab)
    return True


def chosen(args: argparse.Namespace) -> list[type[Drill]]:
    """The drills that were asked for, in the order of their names, or of the command line.

    Raises:
        ConfigError: none, both names and a set, or names that are not known.
    """
    known = [command for command in commands() if command.startswith("drills/")]
    if bool(args.name) + args.all + args.short != 1:
        raise ConfigError(
            f"runbook drill — {' '.join(args.name) or 'nothing'} asked for — name drills, or give one of --all and "
            f"--short — known are: {', '.join(command.removeprefix('drills/') for command in known)}"
        )
    if args.name:
        return list(loaded(f"drills/{name.removeprefix('drills/')}" for name in args.name))
    return [drill for drill in loaded(known) if args.all or drill.is_short]


def loaded(names: Iterable[str]) -> Iterable[type[Drill]]:
    """Classes of drills by command, such as ``drills/stop_dns``.

    Raises:
        ConfigError: names that are not known, all of them.
    """
    found: list[type[Drill]] = []
    problems: list[str] = []
    for name in names:
        try:
            found.append(load(name))  # type: ignore[arg-type]  # runbooks/drills holds drills only; a contract test says so
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*problems)
    return found


def _stack(args: argparse.Namespace) -> str:
    if bool(args.stack) == args.lab:
        raise ConfigError("runbook drill — no stack, or two of them — say --stack NAME or --lab")
    return str(args.stack or "lab")


def _tell(results: Iterable[Result]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("drill", "result", "took", "said", box=None)
    for result in results:
        table.add_row(result.runbook, result.exit.name.lower(), f"{result.seconds:.0f} s", result.said)
    Console(width=None if sys.stdout.isatty() else 200).print(table)
