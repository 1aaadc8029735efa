"""Inventory plugin: the hosts of a Railwright stack, from its plan or from the outputs of what is deployed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleParserError

from ansible.plugins.inventory import BaseInventoryPlugin

DOCUMENTATION = """
name: railwright
short_description: Hosts of a Railwright stack
description:
  - Reads the hosts of a stack from the plan of its file, from saved outputs, or from Pulumi.
  - With a stack file and outputs both, they must name the same hosts.
  - Groups are pool_*, board_*, fabric_*, leaf_* and role_*; variables of pools and hosts are typed.
  - A host that is missing, unknown or listed twice is an error, and nothing is played.
  - Paths are relative to the clone.
options:
  plugin:
    description: Name of this plugin.
    required: true
    choices: [railwright]
  stack_file:
    description: A stack file, such as C(stacks/Pulumi.bare-h100.yaml).
    type: str
  outputs_file:
    description: A file with what C(pulumi stack output --json) printed.
    type: str
  pulumi_stack:
    description: A deployed stack, asked by C(pulumi stack output --json); plain outputs take no passphrase.
    type: str
"""

EXAMPLES = """
# railwright.yml: the plan of a stack file
plugin: railwright
stack_file: stacks/Pulumi.bare-h100.yaml
---
# railwright.yml: what is deployed, refused when the stack file names other hosts
plugin: railwright
stack_file: stacks/Pulumi.bare-h100.yaml
pulumi_stack: bare-h100
"""

CLONE = Path(__file__).resolve().parents[3]
"""The clone that this file lies in."""

ENDINGS = ("railwright.yml", "railwright.yaml")
"""How the name of a source of this plugin ends."""


class InventoryModule(BaseInventoryPlugin):
    """The hosts of one stack."""

    NAME = "railwright"

    def verify_file(self, path: str) -> bool:
        """Whether a file is one for this plugin."""
        return bool(super().verify_file(path)) and path.endswith(ENDINGS)

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Add the groups, hosts and variables of the stack."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        # Another clone's may be installed; this plugin goes with its own.
        if str(CLONE) not in sys.path:
            sys.path.insert(0, str(CLONE))
        try:
            from infra.errors import RailwrightError
        except ImportError as error:
            raise AnsibleParserError(
                f"railwright: {error} in {sys.executable}; use the clone's own: .venv/bin/ansible-playbook"
            ) from error
        try:
            self._add(Path(path).parent)
        except RailwrightError as error:
            raise AnsibleParserError(f"railwright: {error}") from None

    def _add(self, folder: Path) -> None:
        from infra.document.inventory import all_variables, groups, host_variables

        found = self._found()
        _refuse(_strangers(self.inventory, found, folder))
        for name, value in all_variables(found, CLONE).items():
            self.inventory.set_variable("all", name, value)
        for name, variables in host_variables(found):
            self.inventory.add_host(name)
            for key, value in variables.items():
                self.inventory.set_variable(name, key, value)
        for name, (hosts, variables) in groups(found).items():
            self.inventory.add_group(name)
            for key, value in variables.items():
                self.inventory.set_variable(name, key, value)
            for host in hosts:
                self.inventory.add_host(host, group=name)

    def _found(self) -> Any:
        from infra.cli import hosts
        from infra.plan.inventory import same_hosts

        stack, outputs, deployed = (self.get_option(one) for one in ("stack_file", "outputs_file", "pulumi_stack"))
        if (outputs and deployed) or not (stack or outputs or deployed):
            _refuse(["name a stack_file, and one of outputs_file and pulumi_stack, or one of the three"])
        planned = hosts.of_stack(CLONE / stack) if stack else None
        if not (outputs or deployed):
            return planned
        found = hosts.of_file(CLONE / outputs) if outputs else hosts.of_pulumi(deployed, CLONE)
        return same_hosts(planned, found) if planned else found


def _strangers(inventory: Any, found: Any, folder: Path) -> Iterator[str]:
    """Hosts that another source lists too, and variables beside the inventory for what the stack does not have."""
    from infra.config.mistakes import nearest
    from infra.document.inventory import groups

    names = [host.name for host in found.hosts]
    for name in names:
        if name in inventory.hosts:
            yield f"host {name!r} — is listed by another source of this inventory too — list it once"
    known = {"host_vars": [*names, *inventory.hosts], "group_vars": [*groups(found), *inventory.groups]}
    for what, words in known.items():
        for word in _named(folder / what):
            if word not in words:
                yield f"{what}: {word!r} — is not in the stack, so that nothing is told of it — {nearest(word, words)}"


def _named(folder: Path) -> list[str]:
    """Whose variables a folder has. Source: Ansible, organizing host and group variables."""
    names = [path.name for path in folder.glob("*")] if folder.is_dir() else []
    shown = [name for name in names if not name.startswith(".") and not name.endswith("~")]
    return sorted({re.sub(r"\.(yml|yaml|json)$", "", name) for name in shown})


def _refuse(problems: Iterable[str]) -> None:
    from infra.errors import ConfigError

    if said := list(problems):
        raise ConfigError(*said)
