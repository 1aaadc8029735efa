"""What ``lab ib`` takes; apart from what it does, so that other verbs need not wait for that."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(verbs: Any) -> None:
    """Add ``lab ib`` to a command line."""
    said = "A simulated InfiniBand fabric of a stack's hosts: up, down, status, run."
    top = verbs.add_parser("ib", help=said, description=said)
    top.set_defaults(do=_run)
    does = top.add_subparsers(required=True, metavar="WHAT", dest="what")
    made = does.add_parser("up", help="have every rail of every host of a stack on a switch, with a subnet manager")
    made.add_argument("stack", metavar="STACK", help="name of a stack, or its file, such as stacks/Pulumi.lab.yaml")
    does.add_parser("down", help="end it and remove its files")
    does.add_parser("status", help="show its programs and its size")
    made = does.add_parser("run", help="run a program on it, such as ibnetdiscover, in a folder of its own")
    made.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")


def _run(args: argparse.Namespace) -> int:
    from lab.ib import cli

    return cli.run(args)
