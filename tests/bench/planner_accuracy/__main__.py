"""How right the planner is: ``python -m tests.bench.planner_accuracy [golden] [memory] [speed]``; all by default."""

from __future__ import annotations

import sys
from importlib import import_module

PARTS = ("golden", "memory", "speed")
"""Modules beside this one, each with a ``main`` that prints its table and returns 0 when every bar holds."""


def main(wanted: list[str]) -> int:
    """Run the parts that were asked for; the worst outcome is the program's."""
    if unknown := sorted(set(wanted) - set(PARTS)):
        print(f"part {unknown[0]!r} is not known; choose of {', '.join(PARTS)}", file=sys.stderr)
        return 2
    return max(int(import_module(f"{__package__}.{part}").main()) for part in wanted or PARTS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
