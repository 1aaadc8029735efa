"""One simulated host stops answering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._signals import GONE, Signal, simulated
from runbooks.lib.drill.claims import Expects

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host


class LoseHost(Signal):
    """One simulated host stops answering."""

    expects: ClassVar[Expects | None] = Expects(
        "HostNotReady", timedelta(seconds=150), "host/recover_host", "not ready|NotReady", also=("MetricsAbsent",)
    )
    may: ClassVar[Mapping[str, str]] = {"GpuLost": "a host that is gone reports no GPUs"}

    def hosts(self, ctx: Context) -> Sequence[Host]:
        """Which."""
        return simulated(ctx)[-1:]

    def signals(self) -> Mapping[str, str]:
        """What is wrong with it."""
        return {GONE: ""}
