"""``runbook traffic``: send requests as a profile says, judge every answer, report; or compare reports."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from infra.errors import ConfigError, Unknown

if TYPE_CHECKING:
    from rich.console import Console

    from runbooks.lib.traffic.report import Report
    from runbooks.lib.traffic.run import TrafficRun

LINE_EVERY = 0.5
"""Time between two looks at a run (s)."""

QUIET_EVERY = 10.0
"""Time between two lines where nobody watches a terminal (s)."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; those of the profile are named in ``options``."""
    from runbooks.lib.traffic.options import add_profile

    add_profile(parser)
    out = parser.add_argument_group("what to do with it")
    out.add_argument("--json", type=Path, metavar="FILE", help="write the whole report as JSON")
    out.add_argument("--html", type=Path, metavar="FILE", help="write a page with charts")
    out.add_argument("--prometheus", default="", metavar="URL", help="ask it for the engine's own time to first token")
    verbs = parser.add_subparsers(dest="traffic", metavar="compare", parser_class=type(parser))
    compare = verbs.add_parser("compare", help="show reports side by side: ours, vllm bench serve's, guidellm's")
    compare.add_argument("reports", nargs="+", type=Path, metavar="FILE")


def run(args: argparse.Namespace) -> int:
    """Run it; 0 all well, 1 a request was lost, cut or wrong, 4 nothing can be told.

    Raises:
        ConfigError: it is refused, for all reasons at once; nothing was sent.
        Unknown: the gateway does not answer at all; nothing was sent.
    """
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 200)
    if args.traffic == "compare":
        from runbooks.lib.traffic.compare import columns_of, show

        show(columns_of(args.reports), console)
        return 0
    return _drive(args, console)


def _drive(args: argparse.Namespace, console: Console) -> int:
    from runbooks.lib.traffic.door import knock
    from runbooks.lib.traffic.options import profile_from
    from runbooks.lib.traffic.run import TrafficRun
    from runbooks.lib.traffic.table import show

    profile = profile_from(args, outputs=[path for path in (args.json, args.html) if path])
    knock(profile)
    report = _follow(TrafficRun(profile).start())
    report = _with_engine(report, args.prometheus) if args.prometheus else report
    show(report, console)
    if args.json:
        report.write_json(args.json)
    if args.html:
        report.write_html(args.html)
    return report.exit_code


def _follow(run: TrafficRun) -> Report:
    """Show how it stands until it is over; Ctrl-C ends it early, a second one hangs up on what is open."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        _watch(run)
        return run.stop()
    except KeyboardInterrupt:
        _say(f"stopping: waits for {run.snapshot().open} open requests; once more hangs up on them\n")
        try:
            return run.stop()
        except KeyboardInterrupt:
            return run.stop(drain=0.0)
    finally:
        signal.signal(signal.SIGTERM, before)


def _watch(run: TrafficRun) -> None:
    from runbooks.lib.traffic.table import line

    is_watched, said = sys.stderr.isatty(), time.monotonic()
    while not run.join(LINE_EVERY):
        if is_watched:
            _say(f"\r{line(run.snapshot())}\x1b[K")
        elif time.monotonic() - said >= QUIET_EVERY:
            said = time.monotonic()
            _say(f"{line(run.snapshot())}\n")
    if is_watched:
        _say("\r\x1b[K")


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _with_engine(report: Report, url: str) -> Report:
    """Add what the engine says; that it cannot be asked takes nothing from what the client saw."""
    from runbooks.lib.traffic.engine_side import engine_sides, prometheus

    try:
        return replace(report, engine=engine_sides(report, prometheus(url)))
    except (Unknown, ConfigError) as error:
        _say(f"cannot tell what the engine says: {error}\n")
        return report
