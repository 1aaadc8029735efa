"""What runbooks about hosts share: which hosts are meant, what was last done to them, what differs from the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from textwrap import shorten
from typing import TYPE_CHECKING

from infra.errors import ConfigError
from runbooks.engine.model import Outcome, Target, step
from runbooks.lib import changes, clients
from runbooks.lib.diagnosis.background import LONGEST, SHOWN, SUSPECT, Background
from runbooks.lib.diagnosis.finding import Finding, given, told

if TYPE_CHECKING:
    from infra.plan.facts import PoolPlan
    from runbooks.engine.context import Context
    from runbooks.lib.kubernetes.views import Host

GPU = "nvidia.com/gpu"
"""Resource of one GPU. Source: NVIDIA/k8s-device-plugin."""

NAMED = 4
"""Hosts that are named one by one (count)."""


class OnHosts(Background):
    """A runbook about hosts: the one that is named, those of a leaf or of a pool, or all."""

    def targets(self, ctx: Context) -> Iterable[Target]:
        """The hosts by name.

        Raises:
            ConfigError: none is as described.
        """
        return [Target("host", host.name) for host in meant(ctx)]

    @step("which change came last", writes=False)
    def which_change(self, ctx: Context) -> Outcome:
        """Look at writes and events of the hosts, and at updates of the stack."""
        found, now = list(changes.updates(ctx)), datetime.now(UTC)
        for host in meant(ctx)[:NAMED]:
            found += [
                changes.Change(one.at, f"host {host.name}: {one.what}", one.who) for one in changes.writes(host.raw)
            ]
            found += [
                changes.Change(one.at, f"host {host.name}: {one.reason}: {one.message}", one.source or "event")
                for one in clients.of(ctx).kube.events.of("Node", "", host.name)
            ]
        newest = sorted(found, key=lambda change: change.at, reverse=True)[:SHOWN]
        return told([_change(one, now) for one in newest], "no change is known")

    @step("what differs from the plan", writes=False)
    def what_differs(self, ctx: Context) -> Outcome:
        """Compare hosts and what they offer with the pools of the plan."""
        return told(list(differences(ctx, meant(ctx))), "hosts, GPUs and pools are as planned")


def meant(ctx: Context) -> Sequence[Host]:
    """Hosts that the inputs ``host``, ``leaf`` and ``pool`` describe; all without any of them.

    Raises:
        ConfigError: there are none.
    """
    wants = given(ctx)
    hosts, name = clients.of(ctx).kube.hosts, getattr(wants, "host", "")
    if name:
        return [hosts.get(name)]
    pool, leaf = getattr(wants, "pool", ""), getattr(wants, "leaf", "")
    found = hosts.list(pool=pool, leaf=leaf)
    if not found:
        raise ConfigError(f"pool {pool!r}, leaf {leaf!r} — no host is of it — see: kubectl get nodes --show-labels")
    return found


def pool_of(ctx: Context, host: Host) -> PoolPlan | None:
    """The pool of the plan that a host belongs to; None when the plan has none such."""
    return next((pool for pool in clients.of(ctx).plan.pools if pool.name == host.pool), None)


def differences(ctx: Context, hosts: Sequence[Host]) -> Iterator[Finding]:
    """What of the hosts is not as planned."""
    for name in sorted({host.pool for host in hosts if host.pool}):
        pool = next((one for one in clients.of(ctx).plan.pools if one.name == name), None)
        live = clients.of(ctx).kube.hosts.list(pool=name)
        if pool is None:
            yield Finding("drift", f"pool {name!r} is not in the plan, and hosts bear its label", None, (), name)
        elif len(live) != pool.pool.hosts:
            yield Finding("drift", f"pool {name} has {len(live)} hosts, the plan has {pool.pool.hosts}", about=name)
    for host in hosts:
        pool = pool_of(ctx, host)
        if pool is None:
            yield Finding("drift", f"host {host.name} belongs to no pool of the plan", about=host.name)
        elif host.allocatable.get(GPU, 0.0) != pool.board.gpus:
            said = (
                f"host {host.name} offers {host.allocatable.get(GPU, 0.0):g} of the {pool.board.gpus} GPUs of its board"
            )
            yield Finding("drift", said, None, (), host.name)


def names(hosts: Iterable[str]) -> str:
    """Names in a sentence, the first of many."""
    every = sorted(hosts)
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def _change(change: changes.Change, now: datetime) -> Finding:
    young = now - change.at <= SUSPECT
    return Finding(
        "change" if young else "old change", shorten(f"{'recent ' if young else ''}change: {change}", LONGEST)
    )
