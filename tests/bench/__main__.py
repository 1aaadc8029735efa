"""``python -m tests.bench [NAME …]``: take timings, print them beside the last ones, add them to the history."""

from __future__ import annotations

import argparse

from tests.bench.cases import CASES, LONG
from tests.bench.history import latest, record


def main() -> None:
    """Run the named cases, or all but the long ones."""
    parser = argparse.ArgumentParser(prog="tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}; long ones only when named")
    names = parser.parse_args().names or [name for name in CASES if name not in LONG]
    if unknown := sorted(set(names) - set(CASES)):
        parser.error(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")
    before = latest()
    print(f"{'CASE':<24}{'SECONDS':>10}{'BEFORE':>10}{'GOAL':>8}  NOTE")
    for name in names:
        case = CASES[name]
        seconds, note = case.take()
        shown = f"{before[name]:.2f}" if name in before else "-"
        print(f"{name:<24}{seconds:>10.2f}{shown:>10}{case.goal_s:>8}  {note}", flush=True)
        record(name, seconds, note)


main()
