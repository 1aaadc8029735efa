"""``python -m infra.document.kernel_faults``: write the table of faults that hosts count in their kernel log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infra.catalog import xids
from infra.catalog.xids import Action
from infra.document.host_tuning import ROOT

PATH = ROOT / "ansible/roles/node_health/files/kernel_faults.json"
"""Where the role has it."""


def table() -> dict[str, Any]:
    """What each fault asks for, as the program on the host reads it."""
    return {
        "made_by": "python -m infra.document.kernel_faults; do not edit",
        "ask": Action.ASK,
        "ignore": Action.IGNORE,
        "fatal": Action.RESET_FABRIC,
        "at_least_fatal": [action for action in Action if action.rank >= Action.RESET_FABRIC.rank],
        "xid": {str(code): action for action, codes in xids.ACTIONS.items() for code in codes},
        "driver_says_xid": str(xids.ACTIONS[Action.DRIVER_SAYS][0]),
        "driver_says": dict(xids.DRIVER_SAYS),
        "sxid": {str(code): action for action, codes in xids.SXIDS.items() for code in codes},
        "nic": [{"name": one.name, "pattern": one.pattern, "action": one.action} for one in xids.NIC_FAULTS],
    }


def written() -> dict[Path, str]:
    """The file with its text."""
    return {PATH: json.dumps(table(), indent=1, ensure_ascii=False) + "\n"}


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, encoding="utf-8")
