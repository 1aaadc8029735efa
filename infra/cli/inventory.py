"""``infra inventory``: the hosts of a stack, for people, for Ansible and for programs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.cli import hosts
from infra.errors import ConfigError

if TYPE_CHECKING:
    from infra.plan.inventory import Inventory

WIDTH = 120
"""Width of printed YAML (characters), as of our own files."""


def add_to(verbs: Any) -> None:
    """Add the verb to a command line."""
    parser = verbs.add_parser(
        "inventory",
        help="hosts of a stack: a table, or as Ansible reads them",
        description="From the plan of STACK; with --outputs from the deployed stack, which must name the same hosts. "
        "Exit code 0: here they are, 2: one is missing, unknown or listed twice, 4: cannot tell.",
    )
    parser.add_argument("stack", metavar="STACK", help="name of a stack, or its file, such as stacks/Pulumi.lab.yaml")
    parser.add_argument(
        "--outputs", metavar="FILE", help="what pulumi stack output --json printed; - is standard input"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--list", action="store_true", help="groups and variables, as Ansible asks a dynamic inventory")
    form.add_argument("--host", metavar="HOST", help="variables of one host")
    form.add_argument("--json", action="store_true", help="typed hosts as JSON, without what is Ansible's own")
    form.add_argument("--yaml", action="store_true", help="the same as YAML")
    parser.set_defaults(run=_inventory)


def _inventory(options: argparse.Namespace) -> int:
    found = _found(options)
    if options.list or options.host:
        from infra.config.load import clone_root
        from infra.document.inventory import listing, of_host

        said = of_host(found, options.host, clone_root()) if options.host else listing(found, clone_root())
        print(json.dumps(said, indent=2))
    elif options.json or options.yaml:
        _typed(found, as_json=options.json)
    else:
        from infra.screen.inventory import show

        show(found)
    return 0


def _found(options: argparse.Namespace) -> Inventory:
    planned = hosts.of_stack(_file(options.stack))
    if not options.outputs:
        return planned
    from infra.plan.inventory import same_hosts

    if options.outputs == "-":
        return same_hosts(planned, hosts.of_outputs(sys.stdin.read(), "standard input"))
    return same_hosts(planned, hosts.of_file(Path(options.outputs)))


def _file(stack: str) -> Path:
    if stack.endswith((".yaml", ".yml")):
        return Path(stack)
    from infra.config.load import clone_root

    path = clone_root() / "stacks" / f"Pulumi.{stack}.yaml"
    if not path.is_file():
        names = sorted(one.stem.removeprefix("Pulumi.") for one in path.parent.glob("Pulumi.*.yaml"))
        raise ConfigError(f"stack {stack!r} — is not in stacks — name one of {', '.join(names)}, or a file")
    return path


def _typed(found: Inventory, *, as_json: bool) -> None:
    from dataclasses import asdict

    said = {"cluster": found.cluster, "target": found.target, "hosts": [asdict(host) for host in found.hosts]}
    if as_json:
        print(json.dumps(said, indent=2))
        return
    import yaml

    plain = json.loads(json.dumps(said))
    print(yaml.safe_dump(plain, sort_keys=False, width=WIDTH), end="")
