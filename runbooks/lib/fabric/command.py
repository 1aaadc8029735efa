"""``runbook cables``: hold what ibnetdiscover or iblinkinfo printed against the hosts of a stack."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from infra.errors import ConfigError, Unknown
from infra.plan.hosts import Check, HostFacts, Outcome
from infra.plan.inventory import inventory
from runbooks.lib.fabric import linkinfo, netdiscover
from runbooks.lib.fabric.links import Link, rate
from runbooks.lib.fabric.verify import verify
from runbooks.lib.hosts.listed import read

EXITS = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.UNKNOWN: 4}
"""Exit code by the worst outcome."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", help="what ibnetdiscover or iblinkinfo printed; - is standard input")
    hosts = parser.add_mutually_exclusive_group(required=True)
    hosts.add_argument("--inventory", metavar="PATH", help="inventory of Ansible, such as ansible/inventory/example")
    hosts.add_argument(
        "--outputs", metavar="PATH", help="outputs of a stack as JSON, as pulumi stack output --json has"
    )
    parser.add_argument("--rate", help="rate of every link of a host, such as 4xNDR (default: as its board has it)")
    parser.add_argument("--json", action="store_true", help="print the machine form, and only that, on stdout")


def run(args: argparse.Namespace) -> int:
    """Print a line for each rail and switch that is not right; 0 all right, 1 one is wrong, 4 one cannot be told.

    Raises:
        ConfigError: a file cannot be read.
        Unknown: nothing can be told.
    """
    hosts = _of_outputs(_text(args.outputs)) if args.outputs else read(Path(args.inventory)).hosts
    on_fabric = [host for host in hosts if host.fabric == "infiniband"]
    if not on_fabric:
        raise ConfigError("hosts — none of them is in a pool with fabric: infiniband — name those of such a pool")
    checks = verify(_links(_text(args.file)), on_fabric, rate(args.rate) if args.rate else None)
    counts = Counter(check.outcome for check in checks)
    if args.json:
        print(json.dumps([asdict(check) for check in checks], indent=2))
    else:
        for outcome in (Outcome.FAIL, Outcome.UNKNOWN):
            print("".join(f"{_line(check)}\n" for check in checks if check.outcome is outcome), end="")
        told = ", ".join(f"{counts[outcome]} {'cannot be told' if outcome is Outcome.UNKNOWN else outcome.value}"
                         for outcome in Outcome)  # fmt: skip
        print(f"{len(on_fabric)} hosts: {told}")
    return max((EXITS[outcome] for outcome in counts if outcome is not Outcome.UNKNOWN), default=0) or (
        EXITS[Outcome.UNKNOWN] if counts[Outcome.UNKNOWN] else 0
    )


def _links(text: str) -> tuple[Link, ...]:
    if netdiscover.is_one(text):
        return netdiscover.links(text)
    if linkinfo.is_one(text):
        return linkinfo.links(text)
    raise Unknown("file — is neither of ibnetdiscover nor of iblinkinfo — give what one of them printed, whole")


def _of_outputs(text: str) -> tuple[HostFacts, ...]:
    try:
        said: Any = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"outputs — are no JSON ({error}) — write them with pulumi stack output --json") from error
    if not isinstance(said, dict):
        raise ConfigError("outputs — are no mapping — write them with pulumi stack output --json")
    return tuple(inventory(said).hosts)


def _line(check: Check) -> str:
    word = "fail" if check.outcome is Outcome.FAIL else "cannot tell"
    return f"{word}: {check.subject} is {check.found}, wanted {check.wanted} — {check.action}"


def _text(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigError(f"file {name!r} — cannot be read ({error.strerror}) — see its name") from error
