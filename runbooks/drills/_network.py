"""Faults of the way between gateway and engines, made in the network namespace of the engines' host."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from infra.errors import CheckError, ConfigError
from runbooks.drills import _pods
from runbooks.drills._engine import EngineFault
from runbooks.engine.model import Outcome, Target
from runbooks.lib import clients

if TYPE_CHECKING:
    from runbooks.engine.context import Context

TABLE = "inet railwright_drill"
"""Table of nftables that holds all rules of a drill; deleting it is the whole undo."""

FORWARD = "{ type filter hook forward priority -10 ; }"
"""Before the rules of Kubernetes; packets that hosts send themselves, such as probes, do not pass here."""

MISSING = "No such file or directory"
"""What nft says of a table that is not there."""


class NetworkFault(EngineFault):
    """Hurt packets between all gateway pods and the replicas that are targets; probes and scrapes pass."""

    needs_lab: ClassVar[bool] = True

    def verdict(self) -> str:
        """What nftables does with a packet of that way."""
        raise NotImplementedError

    def on_host(self, ctx: Context, host: str, addresses: Sequence[str]) -> None:
        """Do what nftables alone cannot."""

    def off_host(self, ctx: Context, host: str, addresses: Sequence[str]) -> None:
        """Take that back."""

    def inject(self, ctx: Context) -> Outcome:
        """Add the table on each host of a target."""
        c = clients.of(ctx)
        gateways = [pod.ip for pod in c.kube.pods.of_gateway()]
        pods = [c.kube.pods.get(target.namespace, target.name) for target in ctx.targets]
        ways = {host: [pod.ip for pod in pods if pod.host == host] for host in sorted({pod.host for pod in pods})}
        ctx.record(ways=ways)
        for host, addresses in ways.items():
            self.on_host(ctx, host, addresses)
            _nft(ctx, host, "; ".join(rules(gateways, addresses, self.verdict())))
        return Outcome.ok(self.fault(ctx))

    def heal(self, ctx: Context) -> Outcome:
        """Delete the table; one that is gone already is well too."""
        for host, addresses in ctx.facts.get("break_it", {}).get("ways", {}).items():
            _nft(ctx, host, f"delete table {TABLE}", absent_is_well=True)
            self.off_host(ctx, host, addresses)
        return Outcome.ok("packets pass as before")


class AllReplicas(NetworkFault):
    """The way to every replica of a model is hurt at once."""

    def targets(self, ctx: Context) -> Iterable[Target]:
        """All ready pods of it."""
        return [Target("pod", pod.name, pod.namespace) for pod in _pods.ready_pods(ctx, self.model(ctx))]


def rules(gateways: Sequence[str], engines: Sequence[str], verdict: str) -> list[str]:
    """Commands of nft that hurt both directions.

    Raises:
        ConfigError: there is nothing to match; a rule without addresses would hit everything.
    """
    if not (gateways and engines and all(re.fullmatch(r"[0-9.]+", one) for one in (*gateways, *engines))):
        raise ConfigError(f"network — {gateways} and {engines} are no two sets of IPv4 addresses — nothing is cut")
    ours, theirs = (f"{{ {', '.join(side)} }}" for side in (gateways, engines))
    return [
        f"add table {TABLE}",
        f"add chain {TABLE} way {FORWARD}",
        f"add rule {TABLE} way ip saddr {ours} ip daddr {theirs} {verdict}",
        f"add rule {TABLE} way ip saddr {theirs} ip daddr {ours} {verdict}",
    ]


def _nft(ctx: Context, host: str, command: str, *, absent_is_well: bool = False) -> None:
    done = clients.of(ctx).hosts.run(host, ["nft", command])
    if not done.is_ok and not (absent_is_well and MISSING in done.stderr):
        raise CheckError(f"host {host} — nft refuses {command!r}: {done.stderr.strip()} — see `nft list ruleset`")
