"""Faults of simulated hosts: signals set on their Node, and removed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from infra.errors import ConfigError
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients
from runbooks.lib.drill.claims import Left
from runbooks.lib.drill.model import Drill

if TYPE_CHECKING:
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host

GONE = "gone"
"""Not a signal by value: the whole host stops answering."""


class Signal(Drill):
    """Give simulated hosts signals; clients of real models feel nothing."""

    needs_lab: ClassVar[bool] = True
    recovers_within: ClassVar[timedelta] = timedelta(minutes=3)

    def hosts(self, ctx: Context) -> Sequence[Host]:
        """Simulated hosts to hurt."""
        raise NotImplementedError

    def signals(self) -> Mapping[str, str]:
        """Signal to value."""
        raise NotImplementedError

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The hosts by name."""
        return [Target("host", host.name) for host in self.hosts(ctx)]

    def left(self, ctx: Context) -> Iterable[Left]:
        """Ready hosts of each pool; a pool that runs nothing may lose all of them."""
        hurt = list(self.hosts(ctx))
        for pool in sorted({host.pool for host in hurt}):
            live = [host for host in clients.of(ctx).kube.hosts.list(pool=pool) if host.ready]
            yield Left(f"ready hosts of pool {pool!r}", len(live), sum(host.pool == pool for host in hurt), 1)

    def fault(self, ctx: Context) -> str:
        """Which signals on which hosts."""
        told = ", ".join(f"{name} {value}".strip() for name, value in self.signals().items())
        return f"{told} on {', '.join(target.name for target in ctx.targets)}"

    def inject(self, ctx: Context) -> Outcome:
        """Set them."""
        c = clients.of(ctx)
        ctx.record(hosts=[target.name for target in ctx.targets], signals=list(self.signals()))
        for target in ctx.targets:
            for name, value in self.signals().items():
                if name == GONE:
                    c.signals.not_ready(target.name)
                else:
                    c.signals.set(target.name, name, value)
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Remove them."""
        c, told = clients.of(ctx), ctx.facts.get("break_it", {})
        for host in told.get("hosts", ()):
            for name in told["signals"]:
                if name == GONE:
                    c.signals.ready(host)
                else:
                    c.signals.clear(host, name)
        return Outcome.ok("the signals are gone")


def simulated(ctx: Context, *, pool: str = "", leaf: str = "") -> list[Host]:
    """Simulated hosts that are ready.

    Raises:
        ConfigError: there are none.
    """
    found = [host for host in clients.of(ctx).kube.hosts.list(pool=pool, leaf=leaf) if host.simulated and host.ready]
    if not found:
        where = f" in pool {pool!r}" if pool else f" on leaf {leaf!r}" if leaf else ""
        raise ConfigError(f"drill — no simulated host{where} is ready — it needs one — see `kubectl get nodepools`")
    return sorted(found, key=lambda host: host.name)
