"""``runbook accept``: judge what acceptance tests printed, or tell what to run."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

from infra.catalog.acceptance import FLOORS, commands
from infra.catalog.boards import BOARDS
from infra.config.mistakes import nearest
from infra.errors import ConfigError
from infra.plan.hosts import Outcome
from runbooks.lib.acceptance import dcgm, nccl, nvbandwidth, perftest
from runbooks.lib.acceptance.verdict import Verdict, diverges, unlike, worst

FABRICS = ("roce", "infiniband", "efa", "none")
"""Fabrics of a pool."""

EXITS = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.UNKNOWN: 4}
"""Exit code by the worst outcome."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("files", nargs="*", metavar="FILE", help="what a test printed; - is standard input")
    parser.add_argument("--board", required=True, help=f"board of the host: {', '.join(BOARDS)}")
    parser.add_argument("--fabric", default="roce", choices=FABRICS, help="fabric of the pool (default: roce)")
    parser.add_argument("--json", action="store_true", help="print the machine form, and only that, on stdout")


def run(args: argparse.Namespace) -> int:
    """Judge files, or without any tell the commands; 0 all passed, 1 one failed, 4 one cannot be told.

    Raises:
        ConfigError: the board is not known, or a file cannot be read.
    """
    if args.board not in BOARDS:
        raise ConfigError(f"board {args.board!r} — is not known — {nearest(args.board, list(BOARDS))}")
    floor = FLOORS.get(args.board)
    if not args.files:
        if floor is None:
            raise ConfigError(f"board {args.board!r} — nobody has published figures for it — give files to be told")
        print("\n".join(commands(floor, args.fabric)))
        return 0
    named = [(name, one) for name in args.files for one in judge(_text(name), args.board, args.fabric)]
    found = [*(one for _, one in named), *unlike(named)]
    if args.json:
        print(json.dumps([asdict(one) for one in found], indent=2, ensure_ascii=False))
    else:
        print("\n".join(one.said for one in found))
        if stage := diverges(found):
            print(stage)
    return EXITS[worst(found)]


def judge(text: str, board: str, fabric: str) -> tuple[Verdict, ...]:
    """Judge one output by what it looks like."""
    floor = FLOORS.get(board)
    if '"test_categories"' in text or re.search(r"^\| Diagnostic +\| Result", text, re.MULTILINE):
        return dcgm.judge(text)
    if re.search(r"\bnvbandwidth\b", text):
        return nvbandwidth.judge(text, floor)
    if re.search(r"^\s*RDMA_\w+ .*Test\s*$", text, re.MULTILINE) or any(
        re.search(sign.pattern, text) for sign in perftest.SIGNS[:3]
    ):
        return perftest.judge(text, floor, fabric)
    return (nccl.judge(text, floor, fabric),)


def _text(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"file {name!r} — cannot be read ({error.strerror}) — name what a test printed") from error
