"""A context in the midst of one step, with no engine around it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from runbooks.engine.context import Connect, Context, Order
from runbooks.engine.model import Inputs, Step
from runbooks.engine.plain import plain
from runbooks.engine.screen import Screen
from runbooks.lib import clients


class Acting(Context):
    """Keeps in memory what a run would put into its journal."""

    def __init__(
        self,
        stack: str = "lab",
        *,
        run_id: str = "test-run",
        dry: bool = False,
        writes: bool = True,
        connect: Connect = clients.connect,
    ) -> None:
        order = Order(run_id, stack, Inputs(), dry, "test", "", "", Path())
        super().__init__(order, None, Screen(), connect)
        self.recorded: dict[str, dict[str, Any]] = {}
        self.enter(Step("act", "act", writes, "", "", recheck=False, timeout=timedelta(minutes=5)), may_write=writes)

    @property
    def facts(self) -> Mapping[str, Mapping[str, Any]]:
        return self.recorded

    def record(self, **facts: Any) -> None:
        self.recorded.setdefault(self.step, {}).update(plain(facts))
