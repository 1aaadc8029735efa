"""Lose half of the packets between the gateway and one replica."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._network import NetworkFault
from runbooks.lib.drill.claims import Expects

if TYPE_CHECKING:
    from runbooks.engine.context import Context

PERCENT = 50
"""Packets that are lost; TCP hides less than a third of them behind a second of waiting."""


class LosePackets(NetworkFault):
    """Lose half of the packets between the gateway and one replica.

    TCP sends them again: answers are late, and none may be lost, cut or wrong.
    """

    expects: ClassVar[Expects | None] = Expects(
        "ModelLatencyHigh", timedelta(seconds=150), "serving/explain_latency", "network between gateway and engine adds"
    )
    tokens: ClassVar[int] = 48

    def fault(self, ctx: Context) -> str:
        """Which way loses packets."""
        return f"{PERCENT} % of the packets between the gateway and {ctx.targets[0]} are dropped"

    def verdict(self) -> str:
        """Drop by chance."""
        return f"numgen random mod 100 < {PERCENT} drop"
