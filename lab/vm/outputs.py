"""The machines as the outputs of a stack, which is how the inventory of Ansible reads them: ansible/inventory/lab."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lab.vm.machine import RAILS, Machine

SCHEMA_VERSION = 2
"""Form of the outputs. Source: infra.plan.outputs; a test holds both against each other."""

POOL = "vm"
"""Pool of the machines."""


def text(root: Path, clone: Path, machines: Sequence[Machine]) -> str:
    """Outputs of a stack that has these machines.

    Args:
        root: folder of the machines.
        clone: from which paths start.
    """
    pool = {
        "board": "lab-host",
        "hosts": len(machines),
        "fabric": "roce",
        "role": "cpu",
        "machine": "virtual",
        "labels": {"railwright.dev/pool": POOL},
        "taints": [],
        "machines": [_machine(one) for one in machines],
    }
    said = {
        "schema_version": SCHEMA_VERSION,
        "cluster": "lab",
        "target": "lab",
        "ssh_config": str((root / "ssh_config").relative_to(clone)),
        "pools": {POOL: pool},
    }
    return json.dumps(said, indent=2) + "\n"


def _machine(machine: Machine) -> dict[str, Any]:
    names = [f"rail{number}" for number in range(RAILS)]
    rails = [{"interface": name, "address": machine.address(name)} for name in names]
    return {"name": machine.name, "leaf": "vm-leaf-0", "rails": rails}
