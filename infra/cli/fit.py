"""``infra fit``: an engine's start-up log beside its plan."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli import single
from infra.errors import ConfigError, Unknown

if TYPE_CHECKING:
    from infra.fit.log import StartLog
    from infra.plan.single import Single
    from infra.plan.startup import Startup

LONGEST_LINE = 65_536
"""Characters of one line that are read at a time; arguments of an engine take a few thousand."""

EXIT_DIFFERS = 1
"""The log says something else than the plan."""


def add_to(verbs: Any) -> None:
    """Add the verb to a command line."""
    parser = verbs.add_parser(
        "fit",
        help="hold an engine's start-up log against the plan, and name the term that is off",
        description="Reads logs of vLLM 0.2 to 0.32, SGLang, TensorRT-LLM, TGI and LightLLM, with or without prefixes. "
        "Exit code 0: it agrees, 1: it does not, 4: nothing can be told from it.",
    )
    parser.add_argument("log", type=Path, metavar="LOGFILE", help="output of the engine from its first line on")
    parser.add_argument("--stack-file", type=Path, metavar="FILE", help="stack that --model is planned in")
    parser.add_argument("--model", metavar="MODEL", help="model of the stack; without one a checkpoint or config.json")
    parser.add_argument("--store", type=Path, metavar="FILE", help="add the log to a file of calibration rows (CSV)")
    parser.add_argument("--source", metavar="TEXT", help="where the log is from, for --store (its path)")
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    single.add_to(parser)
    parser.set_defaults(run=_fit)


def _fit(options: argparse.Namespace) -> int:
    from infra.fit.calibration import calibration_row, store
    from infra.fit.compare import compare
    from infra.fit.log import read
    from infra.screen.fit import document, show

    if options.stack_file:
        single.alone(options)
    log = read(_lines(options.log))
    fit, doubt = None, None
    try:
        planned, startup = _planned(options, log)
        fit = compare(log, planned, startup) if planned else None
    except Unknown as error:
        # What the engine logged stands, whatever can be said of a plan.
        doubt = error
    if options.json:
        print(json.dumps(document(log, fit), indent=2))
    else:
        show(str(options.log), log, fit, is_asked=bool(options.model))
    if doubt:
        raise doubt
    if options.store:
        if fit is None:
            raise ConfigError(
                "--store — a row names model and GPU; give --stack-file and --model, or --model and --gpu"
            )
        source = options.source or str(options.log)
        store(calibration_row(log, fit, source=source, day=datetime.now(UTC).date()), options.store)
    if fit and not fit.blame and not log.tells_outcome:
        raise Unknown(
            "the log — ends before the cache — it agrees as far as it goes — give the whole start of the engine"
        )
    return EXIT_DIFFERS if fit and fit.blame else 0


def _planned(options: argparse.Namespace, log: StartLog) -> tuple[Single | None, Startup | None]:
    if options.stack_file:
        from infra.cli.stack import model_of
        from infra.plan.single import single_of

        if not options.model:
            raise ConfigError("--stack-file — holds several models; say which with --model")
        item = model_of(options.stack_file, options.model)
        return single_of(item), item.startup
    options.engine = options.engine or log.engine
    options.engine_version = options.engine_version or log.settings.version
    return (single.single_of(options) if options.model else None), None


def _lines(path: Path) -> Iterator[str]:
    """Yield lines without loading the file; of a line longer than any that counts, only pieces."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield from iter(lambda: file.readline(LONGEST_LINE), "")
    except OSError as error:
        raise ConfigError(f"log {str(path)!r} — cannot be read ({error.strerror}); name the engine's output") from error
