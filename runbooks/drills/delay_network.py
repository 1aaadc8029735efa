"""Delay the packets between the gateway and the replicas of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from infra.errors import CheckError
from runbooks.drills import _pods
from runbooks.drills._network import AllReplicas
from runbooks.lib import clients
from runbooks.lib.drill.claims import FAILING, SLOW, Expects, Holds, Left

if TYPE_CHECKING:
    from runbooks.engine.context import Context

CLASS, PRIORITY = "1:10", 0x0001_0010
"""Class of tc that delayed packets go through, and the same as a packet's priority; others pass by at full speed."""

NARROW_KBIT = 10
"""Rate of a way without netem (kbit/s): a request with what confirms its answer takes two seconds there."""

DELAY = timedelta(seconds=3)
"""Delay of each packet where the kernel has netem."""

ON = r"""dev=$(ip -o route get "$1" | sed -n 's/.* dev \([^ ]*\).*/\1/p'); test -n "$dev" &&
tc qdisc add dev "$dev" root handle 1: htb && {
tc class add dev "$dev" parent 1: classid "$2" htb rate 10gbit &&
tc qdisc add dev "$dev" parent "$2" netem delay "$3ms" limit 10000 2>/dev/null ||
tc class replace dev "$dev" parent 1: classid "$2" htb rate "$4kbit" burst 200 cburst 200; }"""
"""Shell words: a class on the interface that leads to the address, with netem or, without it, a narrow one."""

OFF = r"""dev=$(ip -o route get "$1" | sed -n 's/.* dev \([^ ]*\).*/\1/p')
tc qdisc show dev "$dev" root 2>/dev/null | grep -q "htb 1:" && tc qdisc del dev "$dev" root; true"""


class DelayNetwork(AllReplicas):
    """Delay the packets between the gateway and the replicas of a model.

    With netem each packet waits three seconds. A kernel without it gets a way of 10 kbit/s towards each engine, where
    packets wait for those before them: a real delay, which grows with the load, so that the load is small here. All
    replicas have it, as the gateway prefers those that answer soon. No request may be lost or cut; a few whose
    connection waits too long are told to come back later.
    """

    rate: ClassVar[float] = 0.8
    during: ClassVar[Holds] = Holds(rejected=20)
    may: ClassVar[Mapping[str, str]] = {**FAILING, **SLOW}
    expects: ClassVar[Expects | None] = Expects(
        "ModelFirstTokenSlow", timedelta(seconds=180), "serving/explain_latency",
        "network between gateway and engine adds",
    )  # fmt: skip

    def left(self, ctx: Context) -> Iterable[Left]:
        """All replicas go on, slowly."""
        yield _pods.replicas_left(ctx, self.model(ctx), takes=0)

    def fault(self, ctx: Context) -> str:
        """Which way is slow."""
        return f"packets from the gateway to {', '.join(map(str, ctx.targets))} are delayed"

    def verdict(self) -> str:
        """Send them through the slow class."""
        return f"meta priority set {PRIORITY}"

    def on_host(self, ctx: Context, host: str, addresses: Sequence[str]) -> None:
        """Make the class; it delays nothing until packets are sent through it."""
        for address in addresses:
            milliseconds = f"{DELAY.total_seconds() * 1000:.0f}"
            argv = ["sh", "-c", ON, "on", address, CLASS, milliseconds, str(NARROW_KBIT)]
            done = clients.of(ctx).hosts.run(host, argv)
            if not done.is_ok:
                raise CheckError(f"host {host} — tc refuses a slow class: {done.stderr.strip()} — see its kernel")

    def off_host(self, ctx: Context, host: str, addresses: Sequence[str]) -> None:
        """Remove it with all that waits in it; TCP sends that again."""
        for address in addresses:
            clients.of(ctx).hosts.run(host, ["sh", "-c", OFF, "off", address])
