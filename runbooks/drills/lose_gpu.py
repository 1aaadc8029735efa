"""One GPU of a simulated host falls off the bus with Xid 79."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._signals import Signal, simulated
from runbooks.lib.drill.claims import Expects

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host


class LoseGpu(Signal):
    """One GPU of a simulated host falls off the bus with Xid 79."""

    expects: ClassVar[Expects | None] = Expects(
        "GpuXid", timedelta(seconds=90), "gpu/replace_gpu", "79|off the bus", also=("GpuLost",)
    )

    def hosts(self, ctx: Context) -> Sequence[Host]:
        """Which."""
        return simulated(ctx)[-1:]

    def signals(self) -> Mapping[str, str]:
        """What is wrong with it."""
        return {"xid": "3:79", "gpu-lost": "5"}
