"""``infra``: what a stack or a single model comes down to, told without Pulumi and without touching anything."""

from __future__ import annotations

import argparse
import os
import sys

from infra.cli.fit import add_to as add_fit
from infra.cli.inventory import add_to as add_inventory
from infra.cli.plan import add_to as add_plan
from infra.cli.watch import add_to as add_watch
from infra.errors import ConfigError, Unknown

EXIT_REFUSED = 2
"""The spec is wrong or refused; nothing was touched."""

EXIT_UNKNOWN = 4
"""The answer cannot be told from here."""


def parser() -> argparse.ArgumentParser:
    """All verbs with their options."""
    top = argparse.ArgumentParser(prog="infra", description="Plan LLM inference clusters from one typed spec.")
    verbs = top.add_subparsers(dest="verb", required=True)
    for add in (add_plan, add_fit, add_watch, add_inventory):
        add(verbs)
    return top


def main(argv: list[str] | None = None) -> int:
    """Run the command line: 0 it holds, 1 a log differs from its plan, 2 something is refused, 4 cannot tell."""
    options = parser().parse_args(argv)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except ConfigError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return EXIT_REFUSED
    except Unknown as error:
        print(f"cannot tell: {error}", file=sys.stderr)
        return EXIT_UNKNOWN
    except BrokenPipeError:
        # The reader has what it wanted, as in `infra plan STACK --json | head`; nothing more goes to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
