"""Ansible callback that writes what each task did as one JSON line: name, item, outcome, message."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: events
type: notification
short_description: What each task did, as JSON lines
description: [Writes to the file that RAILWRIGHT_EVENTS names. With RAILWRIGHT_ENDS it ends the play after a change.]
"""


class CallbackModule(CallbackBase):
    """One line per task, or per item of a loop."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "events"
    CALLBACK_NEEDS_ENABLED = True

    def _write(self, result: Any, outcome: str) -> None:
        said = result.result
        if outcome == "ok" and said.get("changed"):
            outcome = "changed"
        row = {
            "task": result.task.get_name().strip(), "outcome": outcome,
            "item": str(said.get("_ansible_item_label", said.get("item", ""))),
            "message": str(said.get("msg", "")), "said": str(said.get("stdout", "")),
        }  # fmt: skip
        with Path(os.environ["RAILWRIGHT_EVENTS"]).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if outcome == "changed" and os.environ.get("RAILWRIGHT_ENDS"):
            os._exit(137)

    def v2_runner_on_ok(self, result: Any) -> None:
        """A task ended well; its items have said so themselves."""
        if "results" not in result.result:
            self._write(result, "ok")

    def v2_runner_item_on_ok(self, result: Any) -> None:
        """An item ended well."""
        self._write(result, "ok")

    def v2_runner_on_failed(self, result: Any, ignore_errors: bool = False) -> None:
        """A task failed."""
        self._write(result, "failed")

    def v2_runner_item_on_failed(self, result: Any) -> None:
        """An item failed."""
        self._write(result, "failed")
