"""One NIC of a simulated host goes down again and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._signals import Signal, simulated
from runbooks.lib.drill.claims import Expects

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host


class FlapNic(Signal):
    """One NIC of a simulated host goes down again and again."""

    expects: ClassVar[Expects | None] = Expects(
        "NicDown", timedelta(seconds=90), "fabric/restore_link", "mlx5_2|NIC 2", also=("NicFlapping",)
    )

    def hosts(self, ctx: Context) -> Sequence[Host]:
        """Which."""
        return simulated(ctx)[-1:]

    def signals(self) -> Mapping[str, str]:
        """What is wrong with it."""
        return {"nic-down": "2", "nic-flaps": "2:6"}
