"""All hosts of a leaf stop answering at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._signals import GONE, Signal, simulated
from runbooks.lib.drill.claims import Expects

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host


class LoseLeaf(Signal):
    """All hosts of a leaf stop answering at once."""

    expects: ClassVar[Expects | None] = Expects("LeafDown", timedelta(seconds=120), "host/recover_host", "leaf")
    may: ClassVar[Mapping[str, str]] = {
        "HostNotReady": "each host of the leaf is one",
        "GpuLost": "a host that is gone reports no GPUs",
        "MetricsAbsent": "nobody reports what these hosts did",
    }

    def hosts(self, ctx: Context) -> Sequence[Host]:
        """Which."""
        last = simulated(ctx)[0]
        return simulated(ctx, leaf=last.leaf)

    def signals(self) -> Mapping[str, str]:
        """What is wrong with it."""
        return {GONE: ""}
