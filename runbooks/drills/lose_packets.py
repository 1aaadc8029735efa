"""Lose two of five packets between the gateway and one replica."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from runbooks.drills._network import NetworkFault
from runbooks.lib.drill.claims import FAILING, Expects, Holds

if TYPE_CHECKING:
    from runbooks.engine.context import Context

PERCENT = 40
"""Packets that are lost each way: two of three round trips fail, and TCP waits twice as long after each."""


class LosePackets(NetworkFault):
    """Lose two of five packets between the gateway and one replica.

    TCP sends them again: answers are late, none may be lost or wrong. A few may be cut: the gateway gives up a
    connection on which three probes in a row were not answered, and a stream cannot move to another.
    """

    expects: ClassVar[Expects | None] = Expects(
        "ModelLatencyHigh", timedelta(seconds=150), "serving/explain_latency", "network between gateway and engine adds"
    )
    during: ClassVar[Holds] = Holds(cut=4)
    may: ClassVar[Mapping[str, str]] = FAILING
    after: ClassVar[Holds] = Holds(cut=2)
    tokens: ClassVar[int] = 48

    def fault(self, ctx: Context) -> str:
        """Which way loses packets."""
        return f"{PERCENT} % of the packets between the gateway and {ctx.targets[0]} are dropped"

    def verdict(self) -> str:
        """Drop by chance."""
        return f"numgen random mod 100 < {PERCENT} drop"
