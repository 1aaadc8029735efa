"""What ``lab vm`` takes; apart from what it does, so that other verbs need not wait for that."""

from __future__ import annotations

import argparse


def add(verb: argparse.ArgumentParser) -> None:
    """Add what ``lab vm`` can do."""
    does = verb.add_subparsers(required=True, metavar="WHAT", dest="what")
    made = does.add_parser("up", help="have N machines that answer to ssh, and the inventory of Ansible for them")
    made.add_argument("count", type=int, nargs="?", default=2, metavar="N", help="how many (default: 2)")
    does.add_parser("down", help="switch them off and remove their disks and keys; the image stays for the next time")
    made = does.add_parser("status", help="show each machine")
    made.add_argument("--json", action="store_true", help="for programs")
    made = does.add_parser("ssh", help="log in to a machine, or run a command there")
    made.add_argument("name", metavar="NAME", help="such as vm-0")
    made.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
