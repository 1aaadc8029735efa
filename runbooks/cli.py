"""``runbook``: find the procedure, see its plan, run it, take it back."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.errors import ConfigError, Unknown
from runbooks.engine.arguments import OWN, add_arguments
from runbooks.engine.words import Parser, nearest

if TYPE_CHECKING:
    from runbooks.engine.result import Result
    from runbooks.engine.site import Consent, Site

EXIT_REFUSED, EXIT_UNKNOWN = 2, 4
"""Of commands that end before a run has a result of its own."""

ELSEWHERE = {
    "accept": ("runbooks.lib.acceptance.command", "judge what acceptance tests of a host printed"),
    "cables": ("runbooks.lib.fabric.command", "hold the cables of an InfiniBand fabric against the hosts of a stack"),
    "drill": ("runbooks.lib.drill.command", "make a fault on purpose and see what must hold"),
    "prune": ("runbooks.engine.prune", "remove the records of old runs that left nothing behind"),
    "traffic": ("runbooks.lib.traffic.command", "send requests and judge every answer"),
    "receive": ("runbooks.lib.receiver", "answer alerts with the plan of their runbook, never acting"),
}
"""Commands whose modules bring their own options, imported only when they are called."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; exit codes are those of runs: 0 done, 1 undone, 2 refused, 3 undo failed, 4 unknown."""
    # Looking for plugins of pydantic in every installed package takes as long as everything else; we have none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _dispatch(words)
    except ConfigError as error:
        code = _said(error.problems, EXIT_REFUSED)
    except Unknown as error:
        code = _said((f"cannot tell: {error}",), EXIT_UNKNOWN)
    except KeyboardInterrupt:
        code = _said(("stopped; nothing was under way",), EXIT_REFUSED)
    if any(thread.name.startswith("step ") for thread in threading.enumerate()):
        # A step's thread that never came back must not keep the process, and its hold on the journal, alive.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def site(*, as_json: bool = False, local_lock: bool = False) -> Site:
    """Put together what the engine is given; nothing is imported or asked before it is used."""
    from runbooks.engine.screen import PlainScreen, screen_for
    from runbooks.engine.site import Site, user

    return Site(
        runs=Path(os.environ.get("RAILWRIGHT_RUNS") or _CLONE / ".runs"),
        connect=lambda context: importlib.import_module("runbooks.lib.clients").connect(context),
        locks=None if local_lock else lambda stack: importlib.import_module("runbooks.lib.leases").for_stack(stack),
        screen=PlainScreen(sys.stderr) if as_json else screen_for(sys.stdout),
        actor=os.environ.get("SUDO_USER") or user(),
        is_protected=lambda stack: importlib.import_module("runbooks.lib.stack").is_protected(stack),
        prompt=input if sys.stdin.isatty() else None,
    )


def _dispatch(words: list[str]) -> int:
    parser, verbs = _parser(words)
    given, unknown = parser.parse_known_args(words)
    if unknown and given.verb != "run":
        known = re.findall(r"--[\w-]+", verbs[given.verb].format_usage())
        raise ConfigError(
            *(f"{word} — is no option of runbook {given.verb} — {nearest(word, known)}" for word in unknown)
        )
    if given.verb in ELSEWHERE:
        given.site = site(as_json=getattr(given, "json", False))
        return int(_brought(given.verb).run(given))
    return _run(given, unknown) if given.verb == "run" else _VERBS[given.verb](given)


def _parser(words: list[str]) -> tuple[Parser, dict[str, Parser]]:
    """Make the options of all commands; those brought by other modules or runbooks only if they are called."""
    parser = Parser("runbook", description=_ABOUT, allow_abbrev=False)
    found = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True, parser_class=Parser)
    told = {**OWN, **{name: told for name, (_, told) in ELSEWHERE.items()}}
    verbs: dict[str, Parser] = {
        name: found.add_parser(name, help=said, allow_abbrev=False) for name, said in told.items()
    }
    add_arguments(verbs, words)
    if words and words[0] in ELSEWHERE:
        _brought(words[0]).add_arguments(verbs[words[0]])
    return parser, verbs


def _brought(name: str) -> Any:
    """Import a command that another module brings.

    Raises:
        ConfigError: this clone has no such module.
    """
    module = ELSEWHERE[name][0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise ConfigError(f"runbook {name} — there is no {module} in this clone — update the clone") from error


def _list(given: argparse.Namespace) -> int:
    from runbooks.engine.discover import listed
    from runbooks.engine.screen import screen_for
    from runbooks.engine.tell import as_json, tell_list

    found = [one for one in listed() if given.alert in ("", *one.answers)]
    if given.json:
        _print(as_json(found))
    else:
        tell_list(found, screen_for(sys.stdout))
    return 0 if found else EXIT_REFUSED


def _show(given: argparse.Namespace) -> int:
    from runbooks.engine.discover import load
    from runbooks.engine.screen import screen_for
    from runbooks.engine.tell import as_json, show_as_json, tell_show

    runbook = load(given.runbook)
    if given.json:
        _print(as_json(show_as_json(runbook)))
    else:
        tell_show(runbook, screen_for(sys.stdout))
    return 0


def _run(given: argparse.Namespace, unknown: list[str]) -> int:
    from runbooks.engine.discover import load
    from runbooks.engine.options import read_inputs
    from runbooks.engine.run import execute

    runbook = load(given.runbook)
    problems = list(_stack_problems(given.stack))
    try:
        inputs = read_inputs(runbook, given, unknown)
    except ConfigError as error:
        raise ConfigError(*problems, *error.problems) from error
    if problems:
        raise ConfigError(*problems)
    place = site(as_json=given.json, local_lock=given.local_lock)
    result = execute(runbook, inputs, stack=given.stack, site=place, consent=_consent(given))
    return _report([result], given, as_list=False)


def _take_up(given: argparse.Namespace) -> int:
    """Resume or undo runs, each whatever becomes of the others."""
    from runbooks.engine import run
    from runbooks.engine.discover import load
    from runbooks.engine.stop import Stop

    take_up = run.resume if given.verb == "resume" else run.undo
    place = site(as_json=given.json, local_lock=given.local_lock)
    results: list[Result] = []
    problems: list[str] = []
    with Stop() as stop:
        for name in given.runs:
            try:
                results.append(take_up(name, load=load, site=place, consent=_consent(given), stop=stop))
            except ConfigError as error:
                problems += error.problems
    code = _report(results, given, as_list=True)
    refused = [_said(problems, EXIT_REFUSED)] if problems else []
    return run.worst([*([run.Exit(code)] if results else []), *map(run.Exit, refused)])


def _abort(given: argparse.Namespace) -> int:
    from runbooks.engine.abort import abort
    from runbooks.engine.result import worst
    from runbooks.engine.tell import as_json

    place = site(as_json=given.json)
    ended = {name: abort(place.runs, name, place.screen) for name in given.runs}
    if given.json:
        _print(as_json(ended))
    return worst(ended.values())


def _history(given: argparse.Namespace) -> int:
    from runbooks.engine import history, journal
    from runbooks.engine.tell import as_json, tell_history, tell_run

    place = site()
    if given.run:
        folder = history.find(place.runs, given.run)
        if given.json:
            _print(as_json(list(journal.entries(folder))))
        else:
            tell_run(folder, place.screen)
        return 0
    found = list(history.entries(place.runs, stack=given.stack, limit=given.limit))
    if given.json:
        _print(as_json(found))
    else:
        tell_history(found, place.screen)
    return 0


def _report(results: list[Result], given: argparse.Namespace, *, as_list: bool) -> int:
    from runbooks.engine.result import worst
    from runbooks.engine.tell import as_json

    if given.json:
        told = [result.as_json() for result in results]
        _print(as_json(told if as_list else told[0]))
    if given.junit:
        from runbooks.engine.junit import write_junit

        write_junit(given.junit, results)
    return worst(result.exit for result in results)


def _consent(given: argparse.Namespace) -> Consent:
    from runbooks.engine.site import Consent

    return Consent(
        yes=getattr(given, "yes", True),
        reason=getattr(given, "reason", ""),
        ticket=getattr(given, "ticket", ""),
        stack_again=getattr(given, "stack_name_again", ""),
        break_lock=given.break_lock,
    )


def _stack_problems(stack: str) -> Iterator[str]:
    """Say what is wrong with the stack's name, without reading any stack."""
    known = [path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in _CLONE.glob("stacks/Pulumi.*.yaml")]
    if not stack:
        yield f"--stack — is missing — one of {', '.join(sorted(known))} — add --stack NAME"
    elif stack not in known:
        yield f"--stack — {stack!r} was found — there is no stacks/Pulumi.{stack}.yaml — {nearest(stack, known)}"


def _print(text: str) -> None:
    from runbooks.engine.screen import survive

    survive(lambda: print(text, flush=True), sys.stdout)


def _said(problems: Sequence[str], code: int) -> int:
    for problem in problems:
        print(problem, file=sys.stderr)
    return code


_ABOUT = "Runbooks that run: dry by default, undone when they fail."
_CLONE = Path(__file__).resolve().parents[1]

_VERBS: dict[str, Callable[[argparse.Namespace], int]] = {
    "list": _list,
    "show": _show,
    "resume": _take_up,
    "undo": _take_up,
    "abort": _abort,
    "history": _history,
}


if __name__ == "__main__":
    sys.exit(main())
