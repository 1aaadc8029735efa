"""The console script ``lab``: one function per verb.

Exit codes: 0 done, 1 failed, 2 refused and nothing touched, 3 cannot tell, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import signal
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from infra.errors import CheckError, ConfigError, RailwrightError, Unknown
from lab import paths
from lab.ib import arguments as ib_arguments
from lab.lock import only_one
from lab.steps import StepError
from lab.vm import arguments

FAILED, REFUSED, UNKNOWN, INTERRUPTED = 1, 2, 3, 130
"""Exit codes; the last is what shells give to a program that Ctrl-C ended."""

# Each verb imports what it needs when it runs: `lab env` is part of every new shell and must not wait for the rest.


def up(args: argparse.Namespace) -> int:
    """Make the machine a lab, bring the stack up, and ask the first question."""
    from lab import env as environment
    from lab.progress import view
    from lab.steps import Run
    from lab.up import Up, logs

    environment.keep_scratch_to_pulumi()
    work = Up(simulated=args.simulated, with_stack=not args.no_stack)
    with only_one(_lock()), view() as shown:
        Run(work.steps(), logs(), shown).run()
    if answer := work.answer:
        print(f"\nmodel {answer.model!r} says: {answer.text!r}")
        print(f"{answer.tokens} tokens in {answer.total_s:.2f} s, the first after {answer.first_token_s:.2f} s")
    print(f"\n{next_words(own_name(), simulated=args.simulated, with_stack=not args.no_stack)}")
    return 0


def own_name() -> str:
    """How to call this program from here: by name where PATH leads to it, else by path, the shortest that works."""
    program = Path(sysconfig.get_path("scripts"), "lab")
    if shutil.which("lab") == str(program):
        return "lab"
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)


def next_words(lab: str, *, simulated: bool, with_stack: bool) -> str:
    """What can be done once the lab is up; ``lab`` is how to call this program."""
    begin, shows = f'next: eval "$({shlex.quote(lab)} env)"', f"`{lab} status` shows the parts"
    if not with_stack:
        return f"{begin}, then kubectl works; {shows}"
    if simulated:
        return (
            f"{begin}, then kubectl shows the simulated hosts; {shows}\n"
            "plain `pulumi up` would also deploy the models and the gateway, which have nowhere to run here"
        )
    return f"{begin}, then pulumi, kubectl and OpenAI clients work; {shows}"


def down(args: argparse.Namespace) -> int:
    """End the lab, and with --purge remove its state too."""
    from lab import env as environment
    from lab.cluster.stop import stop
    from lab.ib import operate as fabric
    from lab.vm import operate as machines

    with only_one(_lock()):
        was_there = stop(_say, purge=args.purge)
        environment.forget_kubeconfigs()
        if args.purge:
            machines.down()
            fabric.down()
            # Links into the cache go, what they lead to stays.
            shutil.rmtree(paths.state_dir())
    how = "the lab is down" if was_there else "the lab is already down"
    print("nothing of the lab is left" if args.purge else f"{how}; `lab up` brings it back as it was")
    return 0


def status(args: argparse.Namespace) -> int:
    """Show each part: version, state, memory, age; and whether the stack serves."""
    from rich.console import Console

    from lab import serving
    from lab.cluster.status import as_json, as_table
    from lab.cluster.status import status as look

    found = look()
    if args.json:
        print(as_json(found))
    elif found.kind == "none":
        print(f"lab {found.lab_id} is down; `lab up` brings it up")
    else:
        console = Console(width=None if sys.stdout.isatty() else 200)
        with console.capture() as captured:
            console.print(as_table(found, datetime.now(UTC)))
        # Cells are filled up to the width of their column, the last one too.
        print("\n".join(line.rstrip() for line in captured.get().splitlines()))
        if line := serving.line():
            print(f"\n{line}")
    return 0 if found.works else FAILED


def logs(args: argparse.Namespace) -> int:
    """Print the log of one part."""
    from lab.cluster.logs import logs as lines

    for line in lines(args.part, follow=args.follow):
        print(line, flush=args.follow)
    return 0


def kubeconfig(args: argparse.Namespace) -> int:
    """Print the path of the kubeconfig."""
    path = paths.state_dir() / "kubeconfig"
    if not path.exists():
        raise ConfigError(f"lab — has no kubeconfig at {path} — it is made with the cluster — run `lab up`")
    print(path)
    return 0


def doctor(args: argparse.Namespace) -> int:
    """Find what is wrong, and say how to put it right."""
    from lab.cluster.doctor import doctor as look
    from lab.cluster.doctor import was_ever_up

    findings = look()
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        nothing = "nothing is wrong" if was_ever_up() else "no lab was started here yet; `lab up` starts one"
        print("\n".join(printed(f"{one.who} — {one.found} — {one.fix}") for one in findings) or nothing)
    return FAILED if findings else 0


def env(args: argparse.Namespace) -> int:
    """Print the environment for plain commands, for eval."""
    from lab import env as environment

    print(environment.script(environment.variables()), end="")
    return 0


def key(args: argparse.Namespace) -> int:
    """Print the value of one key; the only command that does."""
    from lab import keys

    print(keys.value(args.name))
    return 0


def images(args: argparse.Namespace) -> int:
    """Print the images that were built here, with their digests."""
    path = paths.state_dir() / "images.json"
    if not path.exists():
        raise ConfigError(f"lab — has no images at {path} — they are built once — run `lab up`")
    for name, digest in sorted(json.loads(path.read_text()).items()):
        print(f"{name}@{digest}")
    return 0


def report(args: argparse.Namespace) -> int:
    """Draw every dashboard of the lab into one HTML page."""
    from lab.report import write

    out = args.out or paths.state_dir() / "report.html"
    found = write(out, args.minutes)
    print(f"{out}: {found.panels} panels, {len(found.empty)} without data that a lab can have")
    return 0


def vm(args: argparse.Namespace) -> int:
    """Virtual machines with kernels of their own, for Ansible to tune: up, down, status, ssh."""
    from lab.vm import cli as machines

    return machines.run(args)


def parser() -> argparse.ArgumentParser:
    """All verbs with their options."""
    top = argparse.ArgumentParser(prog="lab", description="A real cluster with simulated GPU hosts, on this machine.")
    verbs = top.add_subparsers(required=True, metavar="VERB")

    def verb(do: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        made = verbs.add_parser(do.__name__, help=do.__doc__, description=do.__doc__)
        made.set_defaults(do=do)
        return made

    added = verb(up)
    added.add_argument("--simulated", action="store_true", help="control plane and simulated hosts only; needs no root")
    added.add_argument("--no-stack", action="store_true", help="the empty lab, without `pulumi up`")
    verb(down).add_argument("--purge", action="store_true", help="remove state, keys and Pulumi's state too")
    for do in (status, doctor):
        verb(do).add_argument("--json", action="store_true", help="for programs")
    added = verb(logs)
    added.add_argument("part", metavar="PART", help="a part, as `lab status` names it")
    added.add_argument("-f", "--follow", action="store_true", help="go on with new lines")
    for do in (kubeconfig, env, images):
        verb(do)
    added = verb(report)
    added.add_argument("--out", type=Path, metavar="FILE", help="the page; .lab/report.html when left out")
    added.add_argument("--minutes", type=int, default=30, metavar="N", help="how far back it looks (default: 30)")
    arguments.add(verb(vm))
    ib_arguments.add_to(verbs)
    verb(key).add_argument("name", metavar="NAME", help="a key of the stack, such as research")
    return top


def printed(problem: str) -> str:
    """An error as a person reads it: who and what on one line, what to do on the next."""
    who, *rest = problem.split(" — ", 3)
    if not rest:
        return problem
    *found, fix = rest
    return f"{who}: {'; '.join(found)}\n  fix: {fix}" if found else f"{who}: {fix}"


def report_error(error: RailwrightError) -> int:
    """Print an error and give its exit code."""
    cause: BaseException | None = error.__cause__ if isinstance(error, StepError) else error
    if not isinstance(cause, RailwrightError):
        cause = error
    problems = cause.problems if isinstance(cause, ConfigError) else (str(cause),)
    print("\n".join(printed(problem) for problem in problems), file=sys.stderr)
    if isinstance(error, StepError) and cause is not error and "\n  log: " not in str(cause):
        print(f"  log: {error.state.log}", file=sys.stderr)
    codes: dict[type[RailwrightError], int] = {ConfigError: REFUSED, CheckError: FAILED, Unknown: UNKNOWN}
    return next((code for kind, code in codes.items() if isinstance(cause, kind)), FAILED)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb."""
    args = parser().parse_args(argv)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(args.do(args))
    except RailwrightError as error:
        return report_error(error)
    except KeyboardInterrupt:
        interrupted(args)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted, as in `lab logs PART | head`.
        sys.stderr.close()
        return 0


def interrupted(args: argparse.Namespace) -> None:
    """End what the verb started, and say what stays; verbs that only look have nothing to say."""
    from lab.cluster import registry
    from lab.commands import end_children

    changes = args.do in (up, down)
    print("\ninterrupted; ends what it started" if changes else "", file=sys.stderr)
    end_children(10.0 if sys.stdin.isatty() else 0.0)
    if changes:
        record = registry.read(paths.lab_id())
        print(stays(args.do.__name__, runs=record is not None and record.is_alive), file=sys.stderr)


def stays(verb: str, *, runs: bool) -> str:
    """What an interrupted ``lab up`` or ``lab down`` leaves, and how to go on.

    Args:
        verb: the one that was interrupted.
        runs: whether the lab's first process runs.
    """
    if verb == "down":
        return "run `lab down` again to go on where it stopped"
    stop = "; the cluster stays up until `lab down` stops it" if runs else ""
    return f"`lab up` goes on where it stopped{stop}"


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _lock() -> Path:
    return paths.state_dir() / "up.lock"


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
